package simdisk

import (
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

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
