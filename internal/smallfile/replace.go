package smallfile

import (
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/vfs"
)

// Replace makes the content of path b, durably and at once: a crash leaves
// the old file or the new one.
func Replace(path string, b []byte) (err error) {
	temp := path + ".tmp"
	f, err := descriptors.Open(func() (*os.File,
		error) {
		return os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	})
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
	return vfs.OS{}.SyncDir(filepath.Dir(path))
}
