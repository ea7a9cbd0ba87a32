package simdisk

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/turnlog/turnlog/internal/vfs"
)

// SectorSize is the unit that reaches the disk whole or not at all.
const SectorSize = 512

// Disk is a simulated disk. It is safe for concurrent use.
type Disk struct {
	mu       sync.Mutex
	folders  map[string]*folder
	locks    map[string]bool
	capacity int64 // in sectors; 0: unlimited
	lying    bool
	observe  func(Op)
	fault    func(Op) error
}

var _ vfs.FS = (*Disk)(nil)

// folder is the set of names in one directory.
type folder struct {
	seen    map[string]*inode
	durable map[string]*inode
	pending []entryChange // what SyncDir would make durable, in order
}

// entryChange is one atomic change of a folder.
type entryChange struct {
	set    string // this name now means inode; "" if none
	inode  *inode
	remove string // and this one is gone; "" if none
}

func (c entryChange) apply(names map[string]*inode) {
	if c.remove != "" {
		delete(names, c.remove)
	}
	if c.set != "" {
		names[c.set] = c.inode
	}
}

// New returns an empty disk with a root folder.
func New() *Disk {
	return &Disk{
		folders: map[string]*folder{"/": newFolder()},
		locks:   map[string]bool{},
	}
}

func newFolder() *folder {
	return &folder{seen: map[string]*inode{}, durable: map[string]*inode{}}
}

func notExist(name string) error { return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} }

// folderOf returns the folder that holds name. The caller holds mu.
func (d *Disk) folderOf(name string) (f *folder, base string, err error) {
	f, ok := d.folders[filepath.Dir(name)]
	if !ok {
		return nil, "", notExist(name)
	}
	return f, filepath.Base(name), nil
}

// change makes one change to a folder, seen at once. The caller holds mu.
func (f *folder) change(c entryChange) {
	c.apply(f.seen)
	f.pending = append(f.pending, c)
}

// MkdirAll creates folders, durably.
func (d *Disk) MkdirAll(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; d.folders[dir] == nil; dir = filepath.Dir(dir) {
		d.folders[dir] = newFolder()
	}
	return nil
}

// List returns the names in dir, sorted.
func (d *Disk) List(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.folders[dir]
	if !ok {
		return nil, notExist(dir)
	}
	return slices.Sorted(maps.Keys(f.seen)), nil
}

// Create makes an empty file.
func (d *Disk) Create(name string) (vfs.File, error) {
	if err := d.begin(Op{Kind: Create, Name: name}); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, base, err := d.folderOf(name)
	if err != nil {
		return nil, err
	}
	node := newInode()
	f.change(entryChange{set: base, inode: node})
	return &file{disk: d, node: node, name: name}, nil
}

// Open opens an existing file.
func (d *Disk) Open(name string) (vfs.File, error) {
	if err := d.begin(Op{Kind: Open, Name: name}); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, base, err := d.folderOf(name)
	if err != nil {
		return nil, err
	}
	node, ok := f.seen[base]
	if !ok {
		return nil, notExist(name)
	}
	return &file{disk: d, node: node, name: name}, nil
}

// Rename renames a file within its folder.
func (d *Disk) Rename(oldname, newname string) error {
	if err := d.begin(Op{Kind: Rename, Name: oldname, NewName: newname}); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, from, err := d.folderOf(oldname)
	if err != nil {
		return err
	}
	node, ok := f.seen[from]
	if !ok {
		return notExist(oldname)
	}
	if filepath.Dir(oldname) != filepath.Dir(newname) {
		return fmt.Errorf("simdisk: rename between folders: %w", syscall.EXDEV)
	}
	f.change(entryChange{set: filepath.Base(newname), inode: node, remove: from})
	return nil
}

// Remove unlinks a file.
func (d *Disk) Remove(name string) error {
	if err := d.begin(Op{Kind: Remove, Name: name}); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, base, err := d.folderOf(name)
	if err != nil {
		return err
	}
	if _, ok := f.seen[base]; !ok {
		return notExist(name)
	}
	f.change(entryChange{remove: base})
	return nil
}

// SyncDir makes the names in dir durable.
func (d *Disk) SyncDir(dir string) error {
	if err := d.begin(Op{Kind: SyncDir, Name: dir}); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.folders[dir]
	if !ok {
		return notExist(dir)
	}
	if d.lying {
		return nil
	}
	for _, c := range f.pending {
		c.apply(f.durable)
	}
	f.pending = nil
	return nil
}

// Lock takes a lock that ends with Close, Crash or Kill.
func (d *Disk) Lock(name string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locks[name] {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: syscall.EWOULDBLOCK}
	}
	d.locks[name] = true
	return unlocker{d, name}, nil
}

type unlocker struct {
	disk *Disk
	name string
}

func (u unlocker) Close() error {
	u.disk.mu.Lock()
	defer u.disk.mu.Unlock()
	delete(u.disk.locks, u.name)
	return nil
}

// used returns how many sectors all files together take. The caller holds mu.
func (d *Disk) used() (sectors int64) {
	for _, f := range d.folders {
		for _, node := range f.seen {
			sectors += int64(len(node.seen.sectors))
		}
	}
	return sectors
}

// begin tells the observer of an operation and asks for a fault.
func (d *Disk) begin(op Op) error {
	d.mu.Lock()
	observe, fault := d.observe, d.fault
	d.mu.Unlock()
	if observe != nil {
		observe(op)
	}
	if fault == nil {
		return nil
	}
	return fault(op)
}
