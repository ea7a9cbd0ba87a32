package pagecheck

import (
	"bytes"
	"io"
	"sort"
)

// bbolt trusts the pages that it changes. It finds a page's place in the branch above by the first
// key of the page: if a bit of that key has flipped, there or in the branch, the changed page gets
// a place beside it, and the page as it was before, with pairs that are whole, keeps its own.
// Searches then end in one or the other. So pages are verified before they are changed.

// Tree is the tree of a file that is in use, as of a transaction. The next one, which changes the
// file, leaves the pages of the tree as they are. A Tree is for one goroutine.
type Tree struct {
	file  File
	check check
}

// Tree returns the tree as of a transaction whose root the file has. r reads the file.
func (f File) Tree(r io.ReaderAt, txid uint64) (*Tree, error) {
	root, ok, err := findRoot(r, txid)
	if err == nil && !ok {
		err = damaged("it has no root of transaction %d", txid)
	}
	if err != nil {
		return nil, f.corrupt(err)
	}
	return &Tree{f, check{file: r, buckets: f.Buckets, root: root}}, nil
}

// Paths are the paths from the root of a bucket to its leaves.
type Paths struct {
	tree *Tree
	root uint64 // 0: the bucket has no pages
	leaf func(element) error
	// levels is the path to the leaf that was verified last: most keys come in order.
	levels []level
	sound  map[uint64]struct{} // leaves
}

// place is where a page has its place in the tree.
type place struct {
	id     uint64
	within keyRange
	first  bool // of its level: lower keys are searched for there, too
}

// level is a page on a path.
type level struct {
	place
	below      []element // of a branch
	at         int       // the element of below that the path goes through
	last       []byte    // the last key of a leaf
	neighbours bool      // the pages beside it were verified, too
}

// Paths returns the paths of a bucket. whole is told of each pair on the leaves that are verified,
// and returns an error for one that is not as it was written.
func (t *Tree) Paths(bucket []byte, whole func(key, value []byte) error) (*Paths, error) {
	p := t.paths(func(e element) error {
		if err := checkFlags(e); err != nil {
			return err
		}
		return whole(e.key, e.value)
	})
	heads := t.paths(func(e element) error {
		root, inline, err := t.check.bucketHead(e)
		if err != nil || !bytes.Equal(e.key, bucket) {
			return err
		}
		p.root = root
		for i := 0; i < len(inline) && err == nil; i++ {
			err = p.leaf(inline[i])
		}
		return err
	})
	heads.root = t.check.root.tree
	if err := heads.Verify(bucket, false); err != nil {
		return nil, err
	}
	return p, nil
}

func (t *Tree) paths(leaf func(element) error) *Paths {
	return &Paths{tree: t, leaf: leaf, sound: make(map[uint64]struct{})}
}

// Verify verifies the pages on the path to where a key is, or would be. If neighbours is set, it
// verifies the pages too that bbolt may merge with those when keys are deleted. It returns an
// error of kind turn.Corrupt for damaged pages, and errors of whole as they are.
func (p *Paths) Verify(key []byte, neighbours bool) error {
	if p.root == 0 {
		return nil
	}
	if n := len(p.levels); n > 0 && p.levels[n-1].leads(key) && (p.levels[n-1].neighbours || !neighbours) {
		return nil
	}
	err := p.descend(key)
	for d := 1; d < len(p.levels) && err == nil; d++ {
		if neighbours || !p.levels[len(p.levels)-1].leads(key) {
			err = p.verifyNeighbours(d)
		}
	}
	if err != nil {
		p.levels = nil
	}
	return p.tree.file.corrupt(err)
}

// descend goes to the leaf for a key, by the part of the path that it has gone already.
func (p *Paths) descend(key []byte) error {
	if len(p.levels) == 0 {
		if err := p.push(place{id: p.root, first: true}); err != nil {
			return err
		}
	}
	n := 1
	for n < len(p.levels) && p.levels[n].holds(key) {
		n++
	}
	p.levels = p.levels[:n]
	for {
		l := &p.levels[len(p.levels)-1]
		if l.below == nil {
			return nil
		}
		l.at = max(0, sort.Search(len(l.below), func(i int) bool { return bytes.Compare(l.below[i].key, key) > 0 })-1)
		if err := p.push(l.child(l.at)); err != nil {
			return err
		}
	}
}

func (p *Paths) push(at place) error {
	if len(p.levels) > maxDepth {
		return damaged("the path to page %d is too long", at.id)
	}
	below, last, err := p.verify(at)
	if err == nil {
		p.levels = append(p.levels, level{place: at, below: below, last: last})
	}
	return err
}

// verifyNeighbours verifies the pages beside that of a level, and beside its edges.
func (p *Paths) verifyNeighbours(depth int) error {
	l, above := &p.levels[depth], &p.levels[depth-1]
	if l.neighbours {
		return nil
	}
	for _, at := range []int{above.at - 1, above.at + 1} {
		if at < 0 || at >= len(above.below) {
			continue
		}
		if err := p.verifyEdge(above.child(at), at < above.at); err != nil {
			return err
		}
	}
	l.neighbours = true
	return nil
}

// verifyEdge verifies a page, and the first page on each level below it, or the last.
func (p *Paths) verifyEdge(at place, last bool) error {
	for range maxDepth {
		if _, known := p.sound[at.id]; known {
			return nil
		}
		below, _, err := p.verify(at)
		if err != nil || below == nil {
			return err
		}
		l := level{place: at, below: below}
		if at = l.child(0); last {
			at = l.child(len(below) - 1)
		}
	}
	return damaged("the path to page %d is too long", at.id)
}

// verify verifies a page, and returns the elements of a branch or the last key of a leaf.
func (p *Paths) verify(at place) (below []element, last []byte, err error) {
	c := &p.tree.check
	page, err := c.load(at.id)
	if err != nil {
		return nil, nil, err
	}
	all, err := c.elements(page, at.id, at.within)
	if err != nil {
		return nil, nil, err
	}
	if native.Uint16(page[8:]) == branchPage {
		c.buf = nil // the elements are part of it
		return all, nil, nil
	}
	for i := range all {
		if err := p.leaf(all[i]); err != nil {
			return nil, nil, err
		}
	}
	if len(all) > 0 {
		last = bytes.Clone(all[len(all)-1].key)
	}
	p.sound[at.id] = struct{}{}
	return nil, last, nil
}

func (l *level) child(i int) place {
	at := place{l.below[i].child, keyRange{l.below[i].key, l.within.before}, l.first && i == 0}
	if i+1 < len(l.below) {
		at.within.before = l.below[i+1].key
	}
	return at
}

// leads reports whether a search for a key leads to a leaf. For one behind the leaf's last key it
// may do so because the key of the next page is damaged in the branch above: unless the pages beside
// it were verified, that is not known.
func (l *level) leads(key []byte) bool {
	return l.holds(key) && (l.neighbours || bytes.Compare(key, l.last) <= 0)
}

// holds reports whether a key is, or would be, at a place or below it.
func (p place) holds(key []byte) bool {
	return (p.first || bytes.Compare(key, p.within.from) >= 0) &&
		(p.within.before == nil || bytes.Compare(key, p.within.before) < 0)
}
