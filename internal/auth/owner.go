package auth

import (
	"io/fs"
	"os"
	"syscall"
)

// giveTo makes f the file of who owns another one: the node may run as another user than who edits its users.
func giveTo(f *os.File, other fs.FileInfo) error {
	owner, ok := other.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if own, err := f.Stat(); err == nil {
		if s, ok := own.Sys().(*syscall.Stat_t); ok && s.Uid == owner.Uid && s.Gid == owner.Gid {
			return nil
		}
	}
	return f.Chown(int(owner.Uid), int(owner.Gid))
}
