package simdisk

import "maps"

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
