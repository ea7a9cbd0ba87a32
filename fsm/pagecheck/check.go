package pagecheck

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/turn"
)

// File is a bbolt file. Its methods may be called from any goroutine.
type File struct {
	Path string
	// Buckets are the names of the buckets that the file may have. None is nested.
	Buckets [][]byte
}

// Check reads all pages of a file that bbolt does not have open, or does not change. If they
// are damaged, it returns an error of kind turn.Corrupt; one that could not be read is not that.
// others are the buckets that are not among those that the file may have, and are whole: a newer
// version of the owner may have made them, or the name of one is damaged.
func (f File) Check() (others []string, err error) {
	_, err = f.asOf(0, func(c *check) error {
		c.others = &others
		return c.all()
	})
	return others, err
}

// check looks through the pages of a file as of one transaction.
type check struct {
	file    io.ReaderAt
	buckets [][]byte
	others  *[]string // takes the names of others; nil: they are damage
	root    root
	used    []bool // by page
	buf     []byte
	took    uint64 // bytes read
	failed  error  // of a read: what was found then says nothing of the file
	// part, if set, says which part of the tree is looked through.
	part *part
}

// asOf has look look through the file as of the transaction txid, or of the last one if that
// is 0. gone: that transaction's root is not in the file any more.
func (f File) asOf(txid uint64, look func(*check) error) (gone bool, err error) {
	file, err := descriptors.Open(func() (*os.File, error) { return os.Open(f.Path) })
	if err != nil {
		return false, err
	}
	defer file.Close()
	gone, err = f.lookThrough(file, txid, look)
	return gone, f.corrupt(err)
}

// corrupt names the file in what says that it is damaged.
func (f File) corrupt(err error) error {
	if d := damage(""); errors.As(err, &d) {
		return turn.Errorf(turn.Corrupt, "%s is damaged: %s", filepath.Base(f.Path), string(d))
	}
	return err
}

// readable is what a file is looked through by.
type readable interface {
	io.ReaderAt
	Stat() (os.FileInfo, error)
}

func (f File) lookThrough(file readable, txid uint64, look func(*check) error) (gone bool, err error) {
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	root, ok, err := findRoot(file, txid)
	if err != nil || !ok {
		return !ok && err == nil, err
	}
	if has, needs := uint64(info.Size()), root.high*root.pageSize; has/root.pageSize < root.high {
		return false, damaged("it has %d bytes, of %d", has, needs)
	}
	c := check{file: file, buckets: f.Buckets, root: root, used: make([]bool, root.high)}
	c.used[0], c.used[1] = true, true
	err = look(&c)
	return false, cmp.Or(c.failed, err)
}

// all looks through all pages.
func (c *check) all() error {
	if err := c.freelist(); err != nil {
		return err
	}
	if err := c.tree(c.root.tree, keyRange{}, c.bucket); err != nil {
		return err
	}
	for id, used := range c.used {
		if !used {
			return lostPage(uint64(id))
		}
	}
	return nil
}

// root is a root of the file: pages 0 and 1 hold the last two.
type root struct {
	pageSize uint64 // bytes
	tree     uint64 // page of the tree of buckets
	freelist uint64 // page of the list of free ones
	high     uint64 // number of pages
	txid     uint64 // of the transaction that wrote it
}

// native is the order of bytes: bbolt writes what it has in memory.
var native = binary.NativeEndian

const (
	rootMagic   = 0xED0CDAED
	rootFormat  = 2
	rootSummed  = 56 // bytes of a root that its checksum covers
	noFreelist  = 1<<64 - 1
	pageHeader  = 16
	elementHead = 16

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
)

// parseRoot returns the root in a page; ok is false if that holds none, or a damaged one.
func parseRoot(page []byte) (r root, ok bool) {
	b := page[pageHeader:]
	sum := fnv.New64a()
	_, _ = sum.Write(b[:rootSummed])
	if native.Uint32(b) != rootMagic || native.Uint32(b[4:]) != rootFormat ||
		native.Uint64(b[rootSummed:]) != sum.Sum64() {
		return r, false
	}
	return root{
		pageSize: uint64(native.Uint32(b[8:])), tree: native.Uint64(b[16:]),
		freelist: native.Uint64(b[32:]), high: native.Uint64(b[40:]), txid: native.Uint64(b[48:]),
	}, true
}

// findRoot returns the root of a transaction, or the newest if txid is 0.
func findRoot(f io.ReaderAt, txid uint64) (found root, ok bool, err error) {
	any := false
	consider := func(at int64) (r root, good bool) {
		page := make([]byte, pageHeader+rootSummed+8)
		if _, failed := f.ReadAt(page, at); failed != nil {
			if !errors.Is(failed, io.EOF) {
				err = failed
			}
			return r, false
		}
		r, good = parseRoot(page)
		if !good || at > 0 && uint64(at) != r.pageSize {
			return r, false
		}
		any = true
		if txid == r.txid || txid == 0 && r.txid >= found.txid {
			found, ok = r, true
		}
		return r, true
	}
	if r, good := consider(0); good {
		consider(int64(r.pageSize))
	} else {
		for size := int64(1 << 10); size <= 1<<24; size <<= 1 {
			consider(size)
		}
	}
	if err != nil {
		return found, false, err
	}
	if !any {
		return found, false, damaged("neither of its roots is whole")
	}
	return found, ok, nil
}

// freelist marks the free pages, and those that list them.
func (c *check) freelist() error {
	if c.root.freelist == noFreelist {
		return damaged("it has no list of free pages")
	}
	page, err := c.page(c.root.freelist)
	if err != nil {
		return err
	}
	if flags := native.Uint16(page[8:]); flags != freelistPage {
		return damaged("the list of free pages has the flags %#x", flags)
	}
	ids, n := page[pageHeader:], uint64(native.Uint16(page[10:]))
	if n == 0xFFFF { // the number is the first element
		n, ids = native.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		return damaged("the list of free pages says that it has %d", n)
	}
	for last := uint64(1); n > 0; n, ids = n-1, ids[8:] {
		id := native.Uint64(ids)
		if id <= last || id >= c.root.high || c.used[id] {
			return damaged("page %d cannot be free", id)
		}
		c.used[id], last = true, id
	}
	return nil
}
