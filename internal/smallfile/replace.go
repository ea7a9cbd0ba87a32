package smallfile

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// Replace makes the content of path b, durably and at once: a crash leaves
// the old file or the new one.
func Replace(path string, b []byte) (err error) {
	temp := path + ".tmp"
	f, err := descriptors.Open(func() (*os.File, error) { return os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) })
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp)
		}
	}()
	if _, err := f.Write(b); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes durable which files a folder holds, under which names.
func SyncDir(dir string) error {
	d, err := descriptors.Open(func() (*os.File, error) { return os.Open(dir) })
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}
