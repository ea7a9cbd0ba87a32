package newcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// user is whose files a node's are. Root makes them for the user that the node runs as.
type user struct{ uid, gid int }

// ownerOf returns who owns a directory, or else the nearest one above that exists.
func ownerOf(dir string) (user, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return user{}, err
	}
	for {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return user{}, err
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return user{os.Getuid(), os.Getgid()}, nil
		}
		return user{int(s.Uid), int(s.Gid)}, nil
	}
}

// giveToOwner gives a directory and what was made in it to a user, if it runs as root, which follows no link out of the
// directory meanwhile.
func giveToOwner(dir string, to user) (err error) {
	if os.Geteuid() != 0 || to.uid == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		switch {
		case path == "lost+found":
			return fs.SkipDir
		case err != nil:
			return err
		}
		if err := root.Lchown(path, to.uid, to.gid); err != nil {
			return fmt.Errorf("the files cannot be given to the owner of the directory: %w", err)
		}
		return nil
	})
}
