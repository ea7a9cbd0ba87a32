//go:build linux

package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Disk is a mounted disk. Its methods may be called from any goroutine, except Cut and Unmount, during
// which no process may use it.
type Disk struct {
	faults
	dir, behind, aside string
	server             *fuse.Server
	off                chan struct{} // closed when the power is gone

	mu      sync.Mutex
	pages   map[uint64]*pages // by inode: files that were not synced
	entries []entry           // changes of folders that were not, in their order
	counter int               // names files in aside
}

// Mount makes a disk and mounts it at dir. Its content is kept in a folder
// behind it.
func Mount(dir, behind string) (*Disk, error) {
	d := &Disk{dir: dir, behind: filepath.Join(behind, "files"), aside: filepath.Join(behind, "aside"),
		pages: map[uint64]*pages{}}
	d.Set(Faults{})
	for _, folder := range []string{dir, d.behind, d.aside} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	return d, d.mount()
}

func (d *Disk) mount() error {
	data, err := fs.NewLoopbackRoot(d.behind)
	if err != nil {
		return err
	}
	root := &node{LoopbackNode: fs.LoopbackNode{RootData: data.(*fs.LoopbackNode).RootData}, disk: d}
	root.RootData.RootNode = root
	d.off = make(chan struct{})
	never := time.Duration(0) // the kernel has to ask each time
	d.server, err = fs.Mount(d.dir, root, &fs.Options{AttrTimeout: &never, EntryTimeout: &never,
		MountOptions: fuse.MountOptions{Name: "turnlog-test", FsName: d.behind, DirectMount: true, MaxWrite: 1 << 20}})
	if err != nil {
		return fmt.Errorf("mount a disk at %s, which needs /dev/fuse and the right to mount: %w", d.dir, err)
	}
	return nil
}

const unmountLimit = 5 * time.Second

// Unmount ends the disk. It waits up to 5 s for the kernel to release the files of a process that has
// just died.
func (d *Disk) Unmount() error {
	deadline := time.Now().Add(unmountLimit)
	for {
		err := d.server.Unmount()
		if err == nil || !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Off cuts the power: from now on, no operation succeeds, not even those in flight. Cut restores it.
func (d *Disk) Off() { close(d.off) }

// Cut completes a power cut, after Off: what was not synced is lost, as loss and seed determine, and
// nothing is left in memory. Then the power is back.
func (d *Disk) Cut(loss Loss, seed uint64) error {
	if err := d.Unmount(); err != nil {
		return fmt.Errorf("cut the power of %s: %w", d.dir, err)
	}
	f := newFate(loss, seed)
	d.mu.Lock()
	var errs []error
	for ino, p := range d.pages {
		errs = append(errs, p.cut(f), p.file.Close())
		delete(d.pages, ino)
	}
	errs = append(errs, d.cutEntries(f))
	d.mu.Unlock()
	return errors.Join(append(errs, d.mount())...)
}

// Settle makes everything that was written durable, as a machine does after some time.
func (d *Disk) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ino, p := range d.pages {
		p.file.Close()
		delete(d.pages, ino)
	}
	for _, e := range d.entries {
		if e.aside != "" {
			os.Remove(e.aside)
		}
	}
	d.entries = nil
}
