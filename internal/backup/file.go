package backup

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/vfs"
)

// partial is what the name of a file ends in that is not complete.
const partial = ".partial"

// WriteFile has write fill a file for its owner only, which gets its name when it is complete and on disk. A file
// of that name is replaced then. Where there is no such file after a crash, there is at most one whose name ends in
// ".partial".
func WriteFile(path string, write func(io.Writer) error) (err error) {
	temp := path + partial
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return vfs.OS{}.SyncDir(filepath.Dir(path))
}

// VerifyFile verifies a backup in a file.
func VerifyFile(path string) (Description, Summary, error) {
	f, err := os.Open(path)
	if err != nil {
		return Description{}, Summary{}, err
	}
	defer f.Close()
	return Verify(f)
}
