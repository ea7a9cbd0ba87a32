package fsm

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"
)

// While a transaction that reads is open, bbolt reuses no page that was freed since it
// began: one that lasts as long as it takes to look through a large file at the scrub's
// rate has the file grow by all that is flushed then. So a scrub looks through it part by
// part, each in a transaction of its own, as of the root that is the present one then.
const (
	// pagePartBytes and pagePartTime bound a part. What is left of a page, and the list of
	// free pages, which is read for each part, are beyond that.
	pagePartBytes = 16 << 20
	pagePartTime  = 200 * time.Millisecond
)

// pageScan looks through the pages of a store that is in use.
type pageScan struct {
	// asOfNow has look look through the store as of the present root, which stays until it
	// returns.
	asOfNow func(look func(*storeCheck) error) error
	// rest is told after each part how much of the file was read; its error ends the scan.
	rest  func(bytes uint64) error
	bytes uint64 // bound of a part
	// seen, by page of the file as it was when the scan began: the page was in use, or free,
	// in one of the parts. Others may have been all the time: a page that is written again
	// can come to where the scan has been already.
	seen []bool
	// bucket and key are where the next part of the tree begins.
	bucket, key []byte
}

// scrubPages looks through the pages of the store while it is in use.
func (m *Machine) scrubPages(ctx context.Context) error {
	s := pageScan{asOfNow: m.pagesAsOfNow, bytes: pagePartBytes, rest: newRate(ctx).rest}
	return s.run()
}

func (m *Machine) pagesAsOfNow(look func(*storeCheck) error) error {
	for {
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
		gone, err := checkAsOf(path, uint64(tx.ID()), look)
		tx.end()
		if !gone { // else there were two flushes since the transaction began
			return err
		}
	}
}

func (s *pageScan) run() error {
	for _, part := range []func(*storeCheck) (done bool, err error){s.tree, s.unseen} {
		for done := false; !done; {
			read := uint64(0)
			if err := s.asOfNow(func(c *storeCheck) (err error) {
				done, err = part(c)
				read = c.took
				return err
			}); err != nil {
				return err
			}
			if err := s.rest(read); err != nil {
				return err
			}
		}
	}
	return nil
}

// tree looks through some more of the tree, and all that is free.
func (s *pageScan) tree(c *storeCheck) (done bool, err error) {
	if s.seen == nil {
		s.seen = make([]bool, c.meta.high)
	}
	if err := c.freelist(); err != nil {
		return false, err
	}
	c.part = &pagePart{bucket: s.bucket, from: s.key, budget: newPageBudget(c, s.bytes)}
	err = c.tree(c.meta.root, keyRange{}, c.bucket)
	for id, used := range c.used[:min(len(c.used), len(s.seen))] {
		s.seen[id] = s.seen[id] || used
	}
	if errors.Is(err, errPartEnds) {
		s.bucket, s.key = c.part.bucket, c.part.from
		return false, nil
	}
	return err == nil, err
}

// unseen looks for some of the pages that were not seen.
func (s *pageScan) unseen(c *storeCheck) (done bool, err error) {
	if !slices.Contains(s.seen, false) {
		return true, nil
	}
	if err := c.freelist(); err != nil {
		return false, err
	}
	roots, err := c.roots()
	if err != nil {
		return false, err
	}
	budget := newPageBudget(c, s.bytes)
	for id := range s.seen[:min(len(s.seen), len(c.used))] {
		if s.seen[id] {
			continue
		}
		if !c.used[id] && !c.onTree(roots, uint64(id)) {
			return false, lostPage(uint64(id))
		}
		s.seen[id] = true
		if budget.spent(c) {
			return false, nil
		}
	}
	return true, nil
}

// pageBudget bounds what is read in one transaction.
type pageBudget struct {
	bytes uint64 // when so many have been read, in all
	until time.Time
}

func newPageBudget(c *storeCheck, bytes uint64) pageBudget {
	return pageBudget{c.took + bytes, time.Now().Add(pagePartTime)}
}

func (b *pageBudget) spent(c *storeCheck) bool {
	return c.took >= b.bytes || time.Now().After(b.until)
}

// pagePart is a part of the tree: from a key of a bucket on, until the budget is spent.
type pagePart struct {
	bucket, from []byte
	budget       pageBudget
	within       bool // a bucket
}

// errPartEnds ends a walk through the tree. Then the part begins with what comes next.
var errPartEnds = errors.New("the rest of the tree is looked through later")

// passes reports whether pages were looked through before; p may be nil.
func (p *pagePart) passes(keys keyRange) bool {
	return p != nil && p.within && keys.before != nil && bytes.Compare(keys.before, p.from) <= 0
}

// ends returns errPartEnds if the rest of the bucket, from next on, is for another part. One
// page at least is looked through in each.
func (p *pagePart) ends(c *storeCheck, next []byte) error {
	if p == nil || !p.within || next == nil || !p.budget.spent(c) {
		return nil
	}
	p.from = bytes.Clone(next)
	return errPartEnds
}

// bucketTree looks through the tree of a bucket, or a part of it.
func (c *storeCheck) bucketTree(name []byte, root uint64) error {
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
