//go:build linux

package disk

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// node is a file or folder. What it does not do itself, the folder behind does.
type node struct {
	fs.LoopbackNode
	disk *Disk
}

// WrapChild implements fs.NodeWrapChilder.
func (n *node) WrapChild(context.Context, fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{LoopbackNode: fs.LoopbackNode{RootData: n.RootData}, disk: n.disk}
}

func (n *node) path() string { return filepath.Join(n.disk.behind, n.Path(n.Root())) }

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f, err := os.OpenFile(n.path(), os.O_RDWR|int(flags)&os.O_TRUNC, 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	return &file{File: f, disk: n.disk}, 0, 0
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32,
	out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	path := filepath.Join(n.path(), name)
	var child *fs.Inode
	errno := n.disk.change(path, func() (errno syscall.Errno) {
		var fh fs.FileHandle
		child, fh, _, errno = n.LoopbackNode.Create(ctx, name, flags&^syscall.O_ACCMODE|syscall.O_RDWR, mode, out)
		if errno == 0 {
			errno = fh.(fs.FileReleaser).Release(ctx)
		}
		return errno
	}, func() error { return os.Remove(path) })
	if errno != 0 {
		return nil, nil, 0, errno
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, 0, fs.ToErrno(err)
	}
	return child, &file{File: f, disk: n.disk}, 0, 0
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32,
	out *fuse.EntryOut) (child *fs.Inode, errno syscall.Errno) {
	path := filepath.Join(n.path(), name)
	errno = n.disk.change(path, func() syscall.Errno {
		child, errno = n.LoopbackNode.Mkdir(ctx, name, mode, out)
		return errno
	}, func() error { return os.RemoveAll(path) })
	return child, errno
}

func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	return n.disk.change(filepath.Join(n.path(), name),
		func() syscall.Errno { return n.LoopbackNode.Unlink(ctx, name) },
		func() error { return nil })
}

func (n *node) Rename(ctx context.Context, name string, to fs.InodeEmbedder, newName string,
	flags uint32) syscall.Errno {
	parent, ok := to.(*node)
	if !ok || flags != 0 {
		return syscall.EINVAL
	}
	from, path := filepath.Join(n.path(), name), filepath.Join(parent.path(), newName)
	return n.disk.change(path, func() syscall.Errno { return fs.ToErrno(os.Rename(from, path)) },
		func() error { return os.Rename(path, from) })
}

// Setattr is mostly truncation, also to a larger size.
func (n *node) Setattr(ctx context.Context, fh fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		f, err := os.OpenFile(n.path(), os.O_RDWR, 0)
		if err != nil {
			return fs.ToErrno(err)
		}
		defer f.Close()
		if err := n.disk.resize(f, int64(size)); err != 0 {
			return err
		}
		in.Valid &^= fuse.FATTR_SIZE
	}
	return n.LoopbackNode.Setattr(ctx, nil, in, out)
}

// OpendirHandle opens a folder.
func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fh, fuseFlags, errno := n.LoopbackNode.OpendirHandle(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	return &folder{lister: fh.(lister), path: n.path(), disk: n.disk}, fuseFlags, 0
}

// folder is an open one.
type folder struct {
	lister
	path string
	disk *Disk
}

type lister interface {
	fs.FileReaddirenter
	fs.FileReleasedirer
	fs.FileSeekdirer
}

// Fsyncdir makes the folder's entries durable.
func (f *folder) Fsyncdir(context.Context, uint32) syscall.Errno {
	if errno := f.disk.syncing(f.path); errno != 0 || f.disk.fault.Load().Lies {
		return errno
	}
	f.disk.syncFolder(f.path)
	return 0
}

// Statfs tells how much space there is.
func (n *node) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	errno := n.LoopbackNode.Statfs(ctx, out)
	switch f := n.disk.fault.Load(); {
	case f.Full:
		out.Bavail, out.Bfree = 0, 0
	case f.Low:
		out.Bavail = lowBytes / uint64(out.Bsize)
		out.Bfree = out.Bavail
	}
	return errno
}

// lookEvery is how soon a sync that is delayed notices that it no longer is.
const lookEvery = 20 * time.Millisecond

// syncing is what happens to every sync first.
func (d *Disk) syncing(path string) syscall.Errno {
	for began := time.Now(); !d.isOff(); {
		left := d.fault.Load().SyncDelay - time.Since(began)
		if left <= 0 {
			break
		}
		select {
		case <-time.After(min(left, lookEvery)): // it may have become shorter meanwhile
		case <-d.off:
		}
	}
	if d.isOff() || d.fails(Sync, path) {
		return syscall.EIO
	}
	return 0
}

// file is an open file.
type file struct {
	*os.File
	disk *Disk
}

func (f *file) Read(_ context.Context, buf []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if f.disk.fails(Read, f.Name()) {
		return nil, syscall.EIO
	}
	if flip := f.disk.flips(f.Name()); flip || f.disk.fault.Load().Short {
		n, err := f.ReadAt(buf, off)
		if flip && n > 0 {
			buf[n/2] ^= 1
		}
		return fuse.ReadResultData(buf[:f.disk.shortened(f.Name(), off, n)]), fs.ToErrno(ignoreEOF(err))
	}
	return fuse.ReadResultFd(f.Fd(), off, len(buf)), 0
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (f *file) Write(_ context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	if f.disk.isOff() || f.disk.fails(Write, f.Name()) {
		return 0, syscall.EIO
	}
	end := off + int64(len(data))
	if f.disk.fault.Load().Full && takesSpace(int(f.Fd()), off, end) {
		return 0, syscall.ENOSPC
	}
	if errno := f.disk.save(f.File, off, end); errno != 0 {
		return 0, errno
	}
	n, err := f.WriteAt(data, off)
	return uint32(n), fs.ToErrno(err)
}

func (f *file) Fsync(context.Context, uint32) syscall.Errno {
	errno := f.disk.syncing(f.Name())
	if f.disk.isOff() {
		return syscall.EIO // what becomes of the pages is up to the power cut
	}
	if f.disk.fault.Load().Lies {
		return errno
	}
	if err := f.disk.synced(f.File, errno == 0); err != 0 {
		return err
	}
	return errno
}

func (f *file) Allocate(_ context.Context, off, size uint64, mode uint32) syscall.Errno {
	if f.disk.fault.Load().Full {
		return syscall.ENOSPC
	}
	return fs.ToErrno(unix.Fallocate(int(f.Fd()), mode, int64(off), int64(size)))
}

func (f *file) Flush(context.Context) syscall.Errno { return 0 }

func (f *file) Release(context.Context) syscall.Errno { return fs.ToErrno(f.Close()) }

func (f *file) Getattr(_ context.Context, out *fuse.AttrOut) syscall.Errno {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return fs.ToErrno(err)
	}
	out.FromStat(&st)
	return 0
}

// save keeps what the disk has between two offsets of a file.
func (d *Disk) save(f *os.File, from, to int64) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, errno := d.pagesOf(f)
	if errno != 0 {
		return errno
	}
	return fs.ToErrno(p.save(from, to))
}

// pagesOf returns what is remembered of a file. The caller holds mu.
func (d *Disk) pagesOf(f *os.File) (*pages, syscall.Errno) {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return nil, fs.ToErrno(err)
	}
	if p := d.pages[st.Ino]; p != nil {
		return p, 0
	}
	p, err := newPages(f)
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	d.pages[st.Ino] = p
	return p, 0
}

// resize changes the size of a file.
func (d *Disk) resize(f *os.File, size int64) syscall.Errno {
	info, err := f.Stat()
	if err != nil {
		return fs.ToErrno(err)
	}
	if size > info.Size() && d.fault.Load().Full {
		return syscall.ENOSPC
	}
	if errno := d.save(f, size, max(size, info.Size())); errno != 0 {
		return errno
	}
	return fs.ToErrno(f.Truncate(size))
}

// synced notes that a sync of a file has succeeded, or failed.
func (d *Disk) synced(f *os.File, ok bool) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, errno := d.pagesOf(f)
	if errno != 0 {
		return errno
	}
	if !ok {
		p.lose()
		return 0
	}
	var st syscall.Stat_t
	clean, err := p.synced()
	if err == nil {
		err = syscall.Fstat(int(f.Fd()), &st)
	}
	if err == nil && clean {
		delete(d.pages, st.Ino)
		err = p.file.Close()
	}
	return fs.ToErrno(err)
}
