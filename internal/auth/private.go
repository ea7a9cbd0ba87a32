package auth

import (
	"io/fs"
	"os"
	"syscall"
)

// Private reports whether only this process's user, and root, may read or write a file that others must not know.
// The group of the process may read what root made for it: so Kubernetes mounts a secret for a pod, and so does a
// package that gives a service its files.
func Private(info fs.FileInfo) bool {
	perm := info.Mode().Perm()
	if perm&0o077 == 0 {
		return true
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && perm&0o037 == 0 && forGroup(int(s.Uid), int(s.Gid), os.Geteuid(), os.Getegid())
}

// forGroup reports whether a file of an owner and a group was made by root for the group of a process. Root's own group
// is not one: accounts of other services may be in it.
func forGroup(owner, group, uid, gid int) bool {
	return owner == 0 && group == gid && gid != 0 && uid != 0
}
