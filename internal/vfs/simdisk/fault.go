package simdisk

import (
	"fmt"
	"io/fs"
)

// Kind is what an operation does.
type Kind string

// The operations that observers and faults see.
const (
	Create   Kind = "create"
	Open     Kind = "open"
	Rename   Kind = "rename"
	Remove   Kind = "remove"
	SyncDir  Kind = "syncdir"
	Read     Kind = "read"
	Write    Kind = "write"
	Sync     Kind = "sync"
	Allocate Kind = "allocate"
)

// Op is one operation on the disk.
type Op struct {
	Kind    Kind
	Name    string
	NewName string // of a Rename
	Offset  int64  // of a Read or Write
	Length  int64  // of a Read or Write; the size for Allocate
}

// Changes reports whether the operation changes what is seen or what is durable.
func (o Op) Changes() bool { return o.Kind != Read && o.Kind != Open }

func (o Op) String() string {
	switch o.Kind {
	case Rename:
		return fmt.Sprintf("rename %s to %s", o.Name, o.NewName)
	case Read, Write:
		return fmt.Sprintf("%s %s, %d bytes at %d", o.Kind, o.Name, o.Length, o.Offset)
	case Allocate:
		return fmt.Sprintf("allocate %s to %d bytes", o.Name, o.Length)
	}
	return fmt.Sprintf("%s %s", o.Kind, o.Name)
}

// ShortWrite is a fault for a Write: the first N bytes are written, and then Err happens.
type ShortWrite struct {
	N   int
	Err error
}

func (e *ShortWrite) Error() string { return fmt.Sprintf("after %d bytes: %v", e.N, e.Err) }

// Unwrap returns Err.
func (e *ShortWrite) Unwrap() error { return e.Err }

// Observe has f called before each operation takes effect, by the goroutine that performs it; f may call Crash and
// Kill. nil stops it.
func (d *Disk) Observe(f func(Op)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.observe = f
}

// Fail has f asked before each operation; an error that it returns becomes that of the operation, which then does
// nothing (but see ShortWrite and Sync). nil stops it.
func (d *Disk) Fail(f func(Op) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = f
}

// SetCapacity bounds what all files together may take, in bytes; 0: no bound. It counts what was written, not holes.
func (d *Disk) SetCapacity(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = bytes / SectorSize
}

// LieAboutSync makes Sync and SyncDir report success and do nothing.
func (d *Disk) LieAboutSync(lie bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lying = lie
}

// lookup finds a file by name. The caller holds mu.
func (d *Disk) lookup(name string) (*inode, error) {
	f, base, err := d.folderOf(name)
	if err != nil {
		return nil, err
	}
	node, ok := f.seen[base]
	if !ok {
		return nil, notExist(name)
	}
	return node, nil
}

// Rot changes the durable bytes of a file behind the back of the process that has it open, and what readers see of
// them: b[i] ^= mask[i] from offset on.
func (d *Disk) Rot(name string, offset int64, mask ...byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	node, err := d.lookup(name)
	if err != nil {
		return err
	}
	if offset < 0 || offset+int64(len(mask)) > node.seen.size {
		return fmt.Errorf("simdisk: rot beyond the end of %s: %w", name, fs.ErrInvalid)
	}
	for i, m := range mask {
		at := offset + int64(i)
		for _, c := range []content{node.seen, node.durable} {
			var data [SectorSize]byte
			if old := c.sectors[at/SectorSize]; old != nil {
				data = *old
			}
			data[at%SectorSize] ^= m
			c.sectors[at/SectorSize] = &data
		}
	}
	return nil
}

// Cut shortens a file, durably.
func (d *Disk) Cut(name string, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	node, err := d.lookup(name)
	if err != nil {
		return err
	}
	for _, c := range []*content{&node.seen, &node.durable} {
		c.size = min(c.size, size)
		for number := range c.sectors {
			if number*SectorSize >= size {
				delete(c.sectors, number)
			}
		}
	}
	return nil
}

// Extend makes a file longer by a hole, durably.
func (d *Disk) Extend(name string, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	node, err := d.lookup(name)
	if err != nil {
		return err
	}
	node.seen.size, node.durable.size = max(node.seen.size, size), max(node.durable.size, size)
	return nil
}

// Delete removes a file, durably, whatever its folder's pending changes say.
func (d *Disk) Delete(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.lookup(name); err != nil {
		return err
	}
	f, base, _ := d.folderOf(name)
	delete(f.seen, base)
	delete(f.durable, base)
	return nil
}
