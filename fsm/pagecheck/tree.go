package pagecheck

import (
	"bytes"
	"slices"
	"time"
)

// keyRange tells which keys may be on a page: from is the first, of which the page above has a
// copy; all are lower than before. nil: it is not known.
type keyRange struct{ from, before []byte }

// element is what a page says of a pair, or of a page below it.
type element struct {
	flags      uint32
	key, value []byte
	child      uint64
}

// tree looks through a page and those below it, and hands each pair to leaf.
func (c *check) tree(id uint64, within keyRange, leaf func(element) error) error {
	page, err := c.page(id)
	if err != nil {
		return err
	}
	elements, err := c.elements(page, id, within)
	if err != nil {
		return err
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
		if c.part.passes(below) {
			continue
		}
		if err := c.tree(e.child, below, leaf); err != nil {
			return err
		}
		if err := c.part.ends(c, below.before); err != nil {
			return err
		}
	}
	return nil
}

// elements returns what is on a page of a tree that may have no pages too many.
func (c *check) elements(page []byte, id uint64, within keyRange) ([]element, error) {
	elements, end, err := elements(page, id, within)
	if err != nil {
		return nil, err
	}
	// What fits exactly got one page more from older versions of bbolt.
	size, has := c.root.pageSize, uint64(len(page))
	if need := (end + size - 1) / size * size; has != max(need, size) && has != (end/size+1)*size {
		return nil, damaged("page %d takes %d bytes for %d", id, has, end)
	}
	return elements, nil
}

// elements returns what is on a page of a tree, and where that ends.
func elements(page []byte, id uint64, within keyRange) (elements []element, end uint64, err error) {
	flags, n := native.Uint16(page[8:]), uint64(native.Uint16(page[10:]))
	end = pageHeader + n*elementHead
	if flags != leafPage && (flags != branchPage || n == 0) || end > uint64(len(page)) {
		return nil, 0, damaged("page %d has the flags %#x and %d elements", id, flags, n)
	}
	if n == 0 && within.from != nil {
		return nil, 0, damaged("page %d has no elements", id)
	}
	elements = make([]element, n)
	last := within.from
	for i := range elements {
		at := uint64(pageHeader + i*elementHead)
		e, pos, key, value := parseElement(page[at:], flags == leafPage)
		if at+pos != end || key == 0 || end+key+value > uint64(len(page)) {
			return nil, 0, damaged("element %d of page %d is not where it belongs", i, id)
		}
		e.key, e.value = page[end:][:key:key], page[end+key:][:value:value]
		after := bytes.Compare(e.key, last)
		if i == 0 && last != nil && after != 0 || i > 0 && after <= 0 || within.before != nil &&
			bytes.Compare(e.key, within.before) >= 0 {
			return nil, 0, damaged("key %x does not belong to where it is on page %d", e.key, id)
		}
		elements[i], last = e, e.key
		end += key + value
	}
	return elements, end, nil
}

// parseElement returns an element's head: where its key begins, from the head on, and the
// lengths of key and value.
func parseElement(b []byte, leaf bool) (e element, pos, key, value uint64) {
	if leaf {
		e.flags = native.Uint32(b)
		return e, uint64(native.Uint32(b[4:])), uint64(native.Uint32(b[8:])), uint64(native.Uint32(b[12:]))
	}
	e.child = native.Uint64(b[8:])
	return e, uint64(native.Uint32(b)), uint64(native.Uint32(b[4:])), 0
}

// bucket looks through a bucket, given as its pair in the one above. Small ones are
// part of that.
func (c *check) bucket(e element) error {
	if c.others != nil && !c.knownBucket(e.key) {
		*c.others = append(*c.others, string(e.key))
	}
	root, inline, err := c.bucketHead(e)
	if err == nil && root != 0 {
		return c.apart(func() error { return c.bucketTree(e.key, root) })
	}
	for _, e := range inline {
		if err == nil {
			err = checkFlags(e)
		}
	}
	return err
}

// bucketHead returns the root page of a bucket, given as its pair in the one above, or if there is
// none what is in the bucket.
func (c *check) bucketHead(e element) (root uint64, inline []element, err error) {
	if e.flags != 1 || len(e.value) < 16 || c.others == nil && !c.knownBucket(e.key) {
		return 0, nil, damaged("%q is not a bucket of the file", e.key)
	}
	if root := native.Uint64(e.value); root != 0 {
		return root, nil, nil
	}
	page := e.value[16:]
	if len(page) < pageHeader {
		return 0, nil, damaged("bucket %s is cut", e.key)
	}
	inline, end, err := elements(page, 0, keyRange{})
	if err == nil && end != uint64(len(page)) {
		err = damaged("bucket %s has %d bytes, of %d", e.key, len(page), end)
	}
	return 0, inline, err
}

// apart reads other pages, and leaves those that were read before as they are.
func (c *check) apart(read func() error) error {
	before := c.buf
	c.buf = nil
	err := read()
	c.buf = before
	return err
}

func checkFlags(e element) error {
	if e.flags != 0 {
		return damaged("key %x has the flags %#x", e.key, e.flags)
	}
	return nil
}

func (c *check) knownBucket(name []byte) bool {
	return slices.ContainsFunc(c.buckets, func(known []byte) bool { return bytes.Equal(name, known) })
}

// part is a part of the tree: from a key of a bucket on, until the budget is spent.
type part struct {
	bucket, from []byte
	budget       budget
	within       bool // a bucket
}

// passes reports whether pages were looked through before; p may be nil.
func (p *part) passes(keys keyRange) bool {
	return p != nil && p.within && keys.before != nil && bytes.Compare(keys.before, p.from) <= 0
}

// ends returns errPartEnds if the rest of the bucket, from next on, is for another part. One
// page at least is looked through in each.
func (p *part) ends(c *check, next []byte) error {
	if p == nil || !p.within || next == nil || !p.budget.spent(c) {
		return nil
	}
	p.from = bytes.Clone(next)
	return errPartEnds
}

// bucketTree looks through the tree of a bucket, or a part of it.
func (c *check) bucketTree(name []byte, root uint64) error {
	if p := c.part; p != nil {
		switch bytes.Compare(name, p.bucket) {
		case -1:
			return nil
		case 1:
			p.bucket, p.from = bytes.Clone(name), nil
		}
		p.within = true
		defer func() { p.within = false }()
	}
	return c.tree(root, keyRange{}, checkFlags)
}

// budget bounds what is read in one transaction.
type budget struct {
	bytes uint64 // when so many have been read, in all
	until time.Time
}

func newBudget(c *check, bytes uint64) budget {
	return budget{c.took + bytes, time.Now().Add(partTime)}
}

func (b *budget) spent(c *check) bool {
	return c.took >= b.bytes || time.Now().After(b.until)
}
