package fsm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

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
	// pace, if set, is told of each page that was read; its error ends the check.
	pace func(bytes int) error
	buf  []byte
}

// checkPages looks through the pages of the store at path as of the transaction txid, or of
// the last one if that is 0. gone: that transaction's root is not in the file any more.
func checkPages(path string, txid uint64, pace func(bytes int) error) (gone bool, err error) {
	f, err := os.Open(path)
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
	c := storeCheck{file: f, meta: meta, used: make([]bool, meta.high), pace: pace}
	c.used[0], c.used[1] = true, true
	if err := c.freelist(); err != nil {
		return false, err
	}
	if err := c.tree(meta.root, keyRange{}, c.bucket); err != nil {
		return false, err
	}
	for id, used := range c.used {
		if !used {
			return false, pageDamage("page %d is neither on the tree nor free", id)
		}
	}
	return false, nil
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
	for i := id; i <= id+more; i++ {
		if c.used[i] {
			return nil, pageDamage("page %d is used twice", i)
		}
		c.used[i] = true
	}
	if c.pace != nil {
		return c.buf, c.pace(len(c.buf))
	}
	return c.buf, nil
}

func (c *storeCheck) read(at, n uint64) error {
	if uint64(cap(c.buf)) < n {
		c.buf = make([]byte, n)
	}
	c.buf = c.buf[:n]
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

// keyRange bounds the keys that may be on a page; nil: no bound.
type keyRange struct{ from, before []byte }

// element is what a page says of a pair, or of a page below it.
type pageElement struct {
	flags      uint32
	key, value []byte
	child      uint64
}

// tree looks through a page and those below it, and hands each pair to leaf.
func (c *storeCheck) tree(id uint64, within keyRange, leaf func(pageElement) error) error {
	page, err := c.page(id)
	if err != nil {
		return err
	}
	elements, end, err := pageElements(page, id, within)
	if err != nil {
		return err
	}
	// What fits exactly got one page more from older versions of bbolt.
	size, has := c.meta.pageSize, uint64(len(page))
	if need := (end + size - 1) / size * size; has != max(need, size) && has != (end/size+1)*size {
		return pageDamage("page %d takes %d bytes for %d", id, has, end)
	}
	if native.Uint16(page[8:]) == leafPage {
		for _, e := range elements {
			if err := leaf(e); err != nil {
				return err
			}
		}
		return nil
	}
	// The memory of the page is used again below.
	for i := range elements {
		elements[i].key = bytes.Clone(elements[i].key)
	}
	for i, e := range elements {
		below := keyRange{e.key, within.before}
		if i+1 < len(elements) {
			below.before = elements[i+1].key
		}
		if err := c.tree(e.child, below, leaf); err != nil {
			return err
		}
	}
	return nil
}

// pageElements returns what is on a page of a tree, and where that ends.
func pageElements(page []byte, id uint64, within keyRange) (elements []pageElement, end uint64, err error) {
	flags, n := native.Uint16(page[8:]), uint64(native.Uint16(page[10:]))
	end = pageHeader + n*elementHead
	if flags != leafPage && (flags != branchPage || n == 0) || end > uint64(len(page)) {
		return nil, 0, pageDamage("page %d has the flags %#x and %d elements", id, flags, n)
	}
	elements = make([]pageElement, n)
	last := within.from
	for i := range elements {
		at := uint64(pageHeader + i*elementHead)
		e, pos, key, value := parseElement(page[at:], flags == leafPage)
		if at+pos != end || key == 0 || end+key+value > uint64(len(page)) {
			return nil, 0, pageDamage("element %d of page %d is not where it belongs", i, id)
		}
		e.key, e.value = page[end:][:key:key], page[end+key:][:value:value]
		after := bytes.Compare(e.key, last)
		if after < 0 || after == 0 && i > 0 || within.before != nil && bytes.Compare(e.key, within.before) >= 0 {
			return nil, 0, pageDamage("key %x does not belong to where it is on page %d", e.key, id)
		}
		elements[i], last = e, e.key
		end += key + value
	}
	return elements, end, nil
}

// parseElement returns an element's head: where its key begins, from the head on, and the
// lengths of key and value.
func parseElement(b []byte, leaf bool) (e pageElement, pos, key, value uint64) {
	if leaf {
		e.flags = native.Uint32(b)
		return e, uint64(native.Uint32(b[4:])), uint64(native.Uint32(b[8:])), uint64(native.Uint32(b[12:]))
	}
	e.child = native.Uint64(b[8:])
	return e, uint64(native.Uint32(b)), uint64(native.Uint32(b[4:])), 0
}

// bucket looks through a bucket, given as the pair that stands for it. Small ones are
// part of that.
func (c *storeCheck) bucket(e pageElement) error {
	if e.flags != 1 || len(e.value) < 16 || !knownBucket(e.key) {
		return pageDamage("%q is not a bucket of the store", e.key)
	}
	if root := native.Uint64(e.value); root != 0 {
		return c.apart(func() error { return c.tree(root, keyRange{}, checkFlags) })
	}
	inline := e.value[16:]
	if len(inline) < pageHeader {
		return pageDamage("bucket %s is cut", e.key)
	}
	elements, end, err := pageElements(inline, 0, keyRange{})
	if err == nil && end != uint64(len(inline)) {
		err = pageDamage("bucket %s has %d bytes, of %d", e.key, len(inline), end)
	}
	for _, e := range elements {
		if err == nil {
			err = checkFlags(e)
		}
	}
	return err
}

// apart reads other pages, and leaves those that were read before as they are.
func (c *storeCheck) apart(read func() error) error {
	before := c.buf
	c.buf = nil
	err := read()
	c.buf = before
	return err
}

func checkFlags(e pageElement) error {
	if e.flags != 0 {
		return pageDamage("key %x has the flags %#x", e.key, e.flags)
	}
	return nil
}

func knownBucket(name []byte) bool {
	for _, known := range append(buckets(), bucketFiles, bucketSums) {
		if bytes.Equal(name, known) {
			return true
		}
	}
	return false
}

// scrubPages looks through the pages of the store while it is in use.
func (m *Machine) scrubPages(ctx context.Context) error {
	for ctx.Err() == nil {
		m.mu.RLock()
		if err := m.stopped(); err != nil {
			defer m.mu.RUnlock()
			return err
		}
		path := m.db.Path()
		tx, err := m.reading()
		m.mu.RUnlock()
		if err != nil {
			return err
		}
		gone, err := checkPages(path, uint64(tx.ID()), newRate(ctx).did)
		tx.end()
		if !gone { // else there were two flushes since the transaction began
			return err
		}
	}
	return ctx.Err()
}
