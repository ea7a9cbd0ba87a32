package pagecheck

import (
	"errors"
	"slices"
	"time"
)

// While a transaction that reads is open, bbolt reuses no page that was freed since it
// began: one that lasts as long as it takes to look through a large file at the scan's
// rate has the file grow by all that is flushed then. So a scan looks through it part by
// part, each in a transaction of its own, as of the root that is the present one then.
const (
	// partBytes and partTime bound a part. What is left of a page, and the list of
	// free pages, which is read for each part, are beyond that.
	partBytes = 16 << 20
	partTime  = 200 * time.Millisecond
)

// Scan looks through the pages of a file that is in use. It is for one goroutine.
type Scan struct {
	begin func() (Transaction, error)
	rest  func(bytes uint64) error
	bytes uint64 // bound of a part
	// seen, by page of the file as it was when the scan began: the page was in use, or free,
	// in one of the parts. Others may have been all the time: a page that is written again
	// can come to where the scan has been already.
	seen []bool
	// bucket and key are where the next part of the tree begins.
	bucket, key []byte
}

// Transaction is an open read transaction of a file: bbolt overwrites no page that it can see.
type Transaction struct {
	File File
	ID   uint64
	End  func()
}

// NewScan returns a scan. Before each part, begin begins a transaction; after it, rest is told
// how many bytes of the file were read, and may wait. An error of either ends the scan.
func NewScan(begin func() (Transaction, error), rest func(bytes uint64) error) *Scan {
	return &Scan{begin: begin, rest: rest, bytes: partBytes}
}

// asOfNow has look look through the file as of the present root, which stays until it returns.
func (s *Scan) asOfNow(look func(*check) error) error {
	for {
		tx, err := s.begin()
		if err != nil {
			return err
		}
		gone, err := tx.File.asOf(tx.ID, look)
		tx.End()
		if !gone { // else two transactions wrote since this one began
			return err
		}
	}
}

// Run scans the file once. If its pages are damaged, Run returns an error of kind turn.Corrupt.
func (s *Scan) Run() error {
	for _, part := range []func(*check) (done bool, err error){s.tree, s.unseen} {
		for done := false; !done; {
			read := uint64(0)
			if err := s.asOfNow(func(c *check) (err error) {
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
func (s *Scan) tree(c *check) (done bool, err error) {
	if s.seen == nil {
		s.seen = make([]bool, c.root.high)
	}
	if err := c.freelist(); err != nil {
		return false, err
	}
	c.part = &part{bucket: s.bucket, from: s.key, budget: newBudget(c, s.bytes)}
	err = c.tree(c.root.tree, keyRange{}, c.bucket)
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
func (s *Scan) unseen(c *check) (done bool, err error) {
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
	budget := newBudget(c, s.bytes)
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

// errPartEnds ends a walk through the tree. Then the part begins with what comes next.
var errPartEnds = errors.New("the rest of the tree is looked through later")
