package fsm

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// tree looks through the pages of a bbolt file. bbolt trusts what it reads: it
// would follow a page that is not there for ever.
type tree struct {
	file *platterFile
	seen map[uint64]bool
}

// checkTree returns an error if a page that the newest root leads to is not there.
func checkTree(f *platterFile) error {
	root, newest := uint64(0), uint64(0)
	for n := range int64(2) {
		b := f.pages[n]
		if b == nil {
			continue
		}
		meta, sum := b[16:72], fnv.New64a() // magic, version, page size, flags, root, sequence, freelist, pages, transaction
		_, _ = sum.Write(meta)
		if tx := binary.LittleEndian.Uint64(meta[48:]); sum.Sum64() == binary.LittleEndian.Uint64(b[72:]) && tx >= newest {
			root, newest = binary.LittleEndian.Uint64(meta[16:]), tx
		}
	}
	if root == 0 {
		return fmt.Errorf("the file has no valid root")
	}
	t := tree{file: f, seen: make(map[uint64]bool)}
	return t.walk(root)
}

func (t *tree) walk(id uint64) error {
	b := t.bytes(id)
	if len(b) < pageBytes || binary.LittleEndian.Uint64(b) != id || t.seen[id] {
		return fmt.Errorf("page %d is not there, or another one is in its place", id)
	}
	t.seen[id] = true
	leaf := binary.LittleEndian.Uint16(b[8:]) == 2
	for i := range int(binary.LittleEndian.Uint16(b[10:])) {
		e := 16 + 16*i
		if e+16 > len(b) {
			return fmt.Errorf("page %d has %d entries", id, i)
		}
		if !leaf {
			if err := t.walk(binary.LittleEndian.Uint64(b[e+8:])); err != nil {
				return err
			}
			continue
		}
		at := e + int(binary.LittleEndian.Uint32(b[e+4:])) + int(binary.LittleEndian.Uint32(b[e+8:]))
		if at+8 > len(b) {
			return fmt.Errorf("page %d ends within entry %d", id, i)
		}
		if bucket := binary.LittleEndian.Uint32(b[e:])&1 != 0; !bucket {
			continue
		}
		if child := binary.LittleEndian.Uint64(b[at:]); child != 0 {
			if err := t.walk(child); err != nil {
				return err
			}
		}
	}
	return nil
}

// bytes returns a page with those that it flows over into.
func (t *tree) bytes(id uint64) []byte {
	first := t.file.pages[int64(id)]
	if first == nil {
		return nil
	}
	b := append([]byte(nil), first...)
	for i := range int64(min(binary.LittleEndian.Uint32(first[12:]), 1<<16)) {
		more := t.file.pages[int64(id)+1+i]
		if more == nil {
			more = make([]byte, pageBytes)
		}
		b = append(b, more...)
	}
	return b
}
