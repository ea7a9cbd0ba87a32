package newcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// owner is whose files a node's are. Root makes them for the user that the node runs as.
type owner struct {
	uid, gid int
	base     string   // the nearest directory that was there before; it is that user's
	made     []string // the directories that were not, within base, the innermost first
}

// ownerOf returns who owns a directory, or else the nearest one above that exists.
func ownerOf(dir string) (o owner, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return owner{}, err
	}
	var missing []string
	o.base = dir
	info, err := os.Stat(o.base)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(o.base) != o.base {
		missing = append(missing, o.base)
		o.base = filepath.Dir(o.base)
		info, err = os.Stat(o.base)
	}
	if err != nil {
		return owner{}, err
	}
	for _, path := range missing {
		name, err := filepath.Rel(o.base, path)
		if err != nil {
			return owner{}, err
		}
		o.made = append(o.made, name)
	}
	o.uid, o.gid = os.Getuid(), os.Getgid()
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		o.uid, o.gid = int(s.Uid), int(s.Gid)
	}
	return o, nil
}

// giveDirectories gives the directories that were made to the owner. It comes before there are files: after a restore
// that fails, the next one finds whose they are.
func (o owner) giveDirectories() error {
	return o.within(o.base, func(root *os.Root) error {
		for _, name := range o.made {
			if err := o.give(root, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// giveAll gives a directory and what was made in it to the owner.
func (o owner) giveAll(dir string) error {
	return o.within(dir, func(root *os.Root) error {
		return fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
			switch {
			case path == "lost+found":
				return fs.SkipDir
			case err != nil:
				return err
			}
			return o.give(root, path)
		})
	})
}

// within calls f, if it runs as root for another user, with a directory that no link leads out of meanwhile.
func (o owner) within(dir string, f func(*os.Root) error) (err error) {
	if os.Geteuid() != 0 || o.uid == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return f(root)
}

func (o owner) give(root *os.Root, name string) error {
	if err := root.Lchown(name, o.uid, o.gid); err != nil {
		return fmt.Errorf("the files cannot be given to the owner of the directory: %w", err)
	}
	return nil
}
