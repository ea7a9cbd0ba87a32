package vote

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"os"

	"github.com/turnlog/turnlog/turn"
)

// checkPages refuses a bbolt file of which a root, or the page that the newest one
// leads to, is damaged. From a damaged root bbolt would go back to the other one,
// which may be that before the last vote; a crash leaves none damaged, since a root
// is a part of one sector. Where a page says that it is very long, bbolt does not come
// to an end. The few bytes of Raft's stay on one page, with their buckets.
func checkPages(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var newest, leaf, at int64
	for n := range 2 {
		// magic, version, page size, flags, root, sequence, freelist, pages, transaction; checksum
		var b [pageHeader + 64]byte
		if _, err := f.ReadAt(b[:], at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		root, sum := b[pageHeader:], fnv.New64a()
		_, _ = sum.Write(root[:56])
		if sum.Sum64() != binary.NativeEndian.Uint64(root[56:]) {
			return turn.Errorf(turn.Corrupt, "root %d of 2 fails its checksum", n+1)
		}
		at = int64(binary.NativeEndian.Uint32(root[8:]))
		if tx := int64(binary.NativeEndian.Uint64(root[48:])); tx >= newest {
			newest, leaf = tx, int64(binary.NativeEndian.Uint64(root[16:]))
		}
	}
	b := make([]byte, max(at, pageHeader))
	if _, err := f.ReadAt(b, leaf*at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, ok := leafEnd(b); !ok || binary.NativeEndian.Uint64(b) != uint64(leaf) ||
		binary.NativeEndian.Uint16(b[8:]) != isLeaf || binary.NativeEndian.Uint32(b[12:]) != 0 {
		return turn.Errorf(turn.Corrupt, "page %d is damaged", leaf)
	}
	return nil
}

// leafEnd returns where the last element of a leaf page ends; ok is false if the
// elements do not follow each other as bbolt writes them, or a bucket among them
// does not fill its place. bbolt copies a bucket by the length that it is said to
// have, and reads on behind the copy by the lengths within.
//
//	8 bytes id, 2 flags, 2 number of elements, 4 pages that follow;
//	of each element 4 bytes flags, 4 position from here, 4 length of the key, 4 of the value;
//	keys and values, in that order; a bucket's value: 8 bytes root, 8 sequence, a leaf page
func leafEnd(page []byte) (end int, ok bool) {
	if len(page) < pageHeader {
		return 0, false
	}
	const element, bucketHeader, isBucket = 16, 16, 1
	n := int(binary.NativeEndian.Uint16(page[10:]))
	end = pageHeader + n*element
	if end > len(page) {
		return 0, false
	}
	for at := pageHeader; n > 0; n, at = n-1, at+element {
		flags, pos := binary.NativeEndian.Uint32(page[at:]), int(binary.NativeEndian.Uint32(page[at+4:]))
		key, value := int(binary.NativeEndian.Uint32(page[at+8:])), int(binary.NativeEndian.Uint32(page[at+12:]))
		if at+pos != end || end+key+value > len(page) {
			return 0, false
		}
		end += key + value
		if flags&isBucket == 0 {
			continue
		}
		if value < bucketHeader {
			return 0, false
		}
		root, inner := binary.NativeEndian.Uint64(page[end-value:]), page[end-value+bucketHeader:end]
		filled, ok := leafEnd(inner)
		if !ok || filled != value-bucketHeader || root != 0 || binary.NativeEndian.Uint16(inner[8:]) != isLeaf {
			return 0, false
		}
	}
	return end, true
}

const (
	pageHeader = 16
	isLeaf     = 2 // among a page's flags
)
