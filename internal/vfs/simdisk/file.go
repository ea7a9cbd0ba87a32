package simdisk

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"syscall"
)

// sector is immutable: a write replaces it, so contents can share sectors.
type sector *[SectorSize]byte

// content is the bytes of a file. A sector that is missing holds zeros.
type content struct {
	size    int64
	sectors map[int64]sector
}

func (c content) clone() content { return content{c.size, maps.Clone(c.sectors)} }

// inode is a file, whatever its name.
type inode struct {
	seen    content
	durable content
	pending []blockChange // what Sync would make durable, in order
	writes  int           // that pending is parts of
}

// blockChange is a part of a write that reaches the disk whole or not at all: one sector, or a new size.
type blockChange struct {
	number int64
	data   sector // nil: this is a change of size, to number
	write  int    // which of the unsynced writes this is a part of
}

func (b blockChange) sector() int64 {
	if b.data == nil {
		return (b.number - 1) / SectorSize
	}
	return b.number
}

func (b blockChange) apply(c *content) {
	if b.data == nil {
		c.size = max(c.size, b.number)
		return
	}
	c.sectors[b.number] = b.data
	// A sector beyond the durable size is not part of the file, should the change of size be lost.
}

func newInode() *inode {
	return &inode{seen: content{sectors: map[int64]sector{}}, durable: content{sectors: map[int64]sector{}}}
}

func (n *inode) change(b blockChange) {
	b.apply(&n.seen)
	b.write = n.writes
	n.pending = append(n.pending, b)
}

// write changes the bytes at offset. The caller holds the disk's mu.
func (n *inode) write(b []byte, offset int64) {
	for len(b) > 0 {
		number, within := offset/SectorSize, offset%SectorSize
		var data [SectorSize]byte
		if old := n.seen.sectors[number]; old != nil {
			data = *old
		}
		k := copy(data[within:], b)
		n.change(blockChange{number: number, data: &data})
		b, offset = b[k:], offset+int64(k)
	}
	if offset > n.seen.size {
		n.change(blockChange{number: offset})
	}
	n.writes++
}

// file is an open file.
type file struct {
	disk   *Disk
	node   *inode
	name   string
	closed bool
}

func (f *file) ReadAt(b []byte, offset int64) (int, error) {
	if err := f.begin(Op{Kind: Read, Name: f.name, Offset: offset, Length: int64(len(b))}); err != nil {
		return 0, err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	c := f.node.seen
	if offset >= c.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), c.size-offset))
	clear(b[:n])
	for done := 0; done < n; {
		number, within := (offset+int64(done))/SectorSize, (offset+int64(done))%SectorSize
		k := min(n-done, int(SectorSize-within))
		if data := c.sectors[number]; data != nil {
			copy(b[done:done+k], data[within:])
		}
		done += k
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(b []byte, offset int64) (int, error) {
	err := f.begin(Op{Kind: Write, Name: f.name, Offset: offset, Length: int64(len(b))})
	if short, ok := err.(*ShortWrite); ok {
		b = b[:min(short.N, len(b))]
	} else if err != nil {
		return 0, err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if full := f.disk.takeLocked(f.node, offset, int64(len(b))); full != nil {
		return 0, full
	}
	f.node.write(b, offset)
	return len(b), err
}

// Sync makes the file's content durable. If it fails, the changes are lost for good although readers go on seeing them,
// as in a kernel that marks a page clean when it could not write it.
func (f *file) Sync() error {
	err := f.begin(Op{Kind: Sync, Name: f.name})
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	switch {
	case err == nil && f.disk.lying:
		return nil
	case err == nil:
		for _, c := range f.node.pending {
			c.apply(&f.node.durable)
		}
	}
	f.node.pending, f.node.writes = nil, 0
	return err
}

func (f *file) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.node.seen.size, nil
}

func (f *file) Allocate(size int64) error {
	if err := f.begin(Op{Kind: Allocate, Name: f.name, Length: size}); err != nil {
		return err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	at := f.node.seen.size
	if at >= size {
		return nil
	}
	if err := f.disk.takeLocked(f.node, at, size-at); err != nil {
		return err
	}
	f.node.write(make([]byte, size-at), at)
	return nil
}

func (f *file) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	return nil
}

func (f *file) begin(op Op) error {
	f.disk.mu.Lock()
	closed := f.closed
	f.disk.mu.Unlock()
	if closed {
		return fmt.Errorf("simdisk: %v: %w", op, fs.ErrClosed)
	}
	return f.disk.begin(op)
}

// takeLocked makes sure that the disk has room for a write.
func (d *Disk) takeLocked(n *inode, offset, length int64) error {
	if d.capacity == 0 {
		return nil
	}
	need := int64(0)
	for s := offset / SectorSize; s*SectorSize < offset+length; s++ {
		if n.seen.sectors[s] == nil {
			need++
		}
	}
	if need > 0 && d.used()+need > d.capacity {
		return syscall.ENOSPC
	}
	return nil
}
