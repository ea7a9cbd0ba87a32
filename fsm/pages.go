package fsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/turn"
)

// bbolt has no checksums on its pages, and maps the file: what is wrong with a page's
// head, or with where a file ends, shows as other pairs, or none, or ends the process.
// But all that a page says of itself follows from what bbolt wrote: its number, where its
// elements lie, how many pages it takes, which keys may be on it; and each page of the
// file is on the tree once, or free, or on the list of those. So this is looked at before
// bbolt opens the file, and whenever the store is scrubbed. What is in the pairs is
// guarded by their seals.

// storeCheck looks through the pages of a store as of one transaction.
type storeCheck struct {
	file io.ReaderAt
	meta pageMeta
	used []bool // by page
	buf  []byte
	took uint64 // bytes read
	// part, if set, says which part of the tree is looked through.
	part *pagePart
}

// checkPages looks through the pages of the store at path.
func checkPages(path string) error {
	_, err := checkAsOf(path, 0, (*storeCheck).all)
	return err
}

// checkAsOf has look look through the store at path as of the transaction txid, or of the
// last one if that is 0. gone: that transaction's root is not in the file any more.
func checkAsOf(path string, txid uint64, look func(*storeCheck) error) (gone bool, err error) {
	f, err := descriptors.Open(func() (*os.File, error) { return os.Open(path) })
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	meta, ok, err := findMeta(f, txid)
	if err != nil || !ok {
		return !ok, err
	}
	if has, needs := uint64(info.Size()), meta.high*meta.pageSize; has/meta.pageSize < meta.high {
		return false, pageDamage("it has %d bytes, of %d", has, needs)
	}
	c := storeCheck{file: f, meta: meta, used: make([]bool, meta.high)}
	c.used[0], c.used[1] = true, true
	return false, look(&c)
}

// all looks through all pages.
func (c *storeCheck) all() error {
	if err := c.freelist(); err != nil {
		return err
	}
	if err := c.tree(c.meta.root, keyRange{}, c.bucket); err != nil {
		return err
	}
	for id, used := range c.used {
		if !used {
			return lostPage(uint64(id))
		}
	}
	return nil
}

func lostPage(id uint64) error {
	return pageDamage("page %d is neither on the tree nor free", id)
}

func pageDamage(format string, args ...any) error {
	return turn.Errorf(turn.Corrupt, "%s is damaged: %s", storeName, fmt.Sprintf(format, args...))
}

// pageMeta is a root of the file: pages 0 and 1 hold the last two.
type pageMeta struct{ pageSize, root, freelist, high, txid uint64 }

// native is the order of bytes: bbolt writes what it has in memory.
var native = binary.NativeEndian

const (
	metaMagic   = 0xED0CDAED
	metaFormat  = 2
	metaSummed  = 56 // bytes of a root that its checksum covers
	noFreelist  = 1<<64 - 1
	pageHeader  = 16
	elementHead = 16

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
)

// parseMeta returns the root in a page; ok is false if that holds none, or a damaged one.
func parseMeta(page []byte) (m pageMeta, ok bool) {
	b := page[pageHeader:]
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSummed])
	if native.Uint32(b) != metaMagic || native.Uint32(b[4:]) != metaFormat || native.Uint64(b[metaSummed:]) != sum.Sum64() {
		return m, false
	}
	return pageMeta{
		pageSize: uint64(native.Uint32(b[8:])), root: native.Uint64(b[16:]),
		freelist: native.Uint64(b[32:]), high: native.Uint64(b[40:]), txid: native.Uint64(b[48:]),
	}, true
}

// findMeta returns the root of a transaction, or the newest if txid is 0.
func findMeta(f io.ReaderAt, txid uint64) (found pageMeta, ok bool, err error) {
	any := false
	consider := func(at int64) (m pageMeta, good bool) {
		page := make([]byte, pageHeader+metaSummed+8)
		if _, err := f.ReadAt(page, at); err != nil {
			return m, false
		}
		m, good = parseMeta(page)
		if !good || at > 0 && uint64(at) != m.pageSize {
			return m, false
		}
		any = true
		if txid == m.txid || txid == 0 && m.txid >= found.txid {
			found, ok = m, true
		}
		return m, true
	}
	if m, good := consider(0); good {
		consider(int64(m.pageSize))
	} else {
		for size := int64(1 << 10); size <= 1<<24; size <<= 1 {
			consider(size)
		}
	}
	if !any {
		return found, false, pageDamage("neither of its roots is whole")
	}
	return found, ok, nil
}

// page reads a page, with those that it continues in, and marks them as used. The bytes
// are valid until the next call.
func (c *storeCheck) page(id uint64) ([]byte, error) {
	page, err := c.load(id)
	if err != nil {
		return nil, err
	}
	for i := range uint64(len(page)) / c.meta.pageSize {
		if c.used[id+i] {
			return nil, pageDamage("page %d is used twice", id+i)
		}
		c.used[id+i] = true
	}
	return page, nil
}

// load is page without the marks.
func (c *storeCheck) load(id uint64) ([]byte, error) {
	size := c.meta.pageSize
	if id >= c.meta.high {
		return nil, pageDamage("page %d is beyond its end", id)
	}
	if err := c.read(id*size, size); err != nil {
		return nil, err
	}
	if own := native.Uint64(c.buf); own != id {
		return nil, pageDamage("page %d calls itself %d", id, own)
	}
	more := uint64(native.Uint32(c.buf[12:]))
	if id+more >= c.meta.high {
		return nil, pageDamage("page %d goes beyond its end", id)
	}
	if more > 0 {
		if err := c.read(id*size, (1+more)*size); err != nil {
			return nil, err
		}
	}
	return c.buf, nil
}

func (c *storeCheck) read(at, n uint64) error {
	if uint64(cap(c.buf)) < n {
		c.buf = make([]byte, n)
	}
	c.buf = c.buf[:n]
	c.took += n
	if _, err := c.file.ReadAt(c.buf, int64(at)); errors.Is(err, io.EOF) {
		return pageDamage("it ends before byte %d", at+n)
	} else if err != nil {
		return pageDamage("%v", err)
	}
	return nil
}

// freelist marks the free pages, and those that list them.
func (c *storeCheck) freelist() error {
	if c.meta.freelist == noFreelist {
		return pageDamage("it has no list of free pages")
	}
	page, err := c.page(c.meta.freelist)
	if err != nil {
		return err
	}
	if flags := native.Uint16(page[8:]); flags != freelistPage {
		return pageDamage("the list of free pages has the flags %#x", flags)
	}
	ids, n := page[pageHeader:], uint64(native.Uint16(page[10:]))
	if n == 0xFFFF { // the number is the first element
		n, ids = native.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		return pageDamage("the list of free pages says that it has %d", n)
	}
	for last := uint64(1); n > 0; n, ids = n-1, ids[8:] {
		id := native.Uint64(ids)
		if id <= last || id >= c.meta.high || c.used[id] {
			return pageDamage("page %d cannot be free", id)
		}
		c.used[id], last = true, id
	}
	return nil
}
