package pagecheck

import (
	"bytes"
	"slices"
)

// maxDepth is more levels than a tree of pages has.
const maxDepth = 64

// roots returns the root pages of the buckets, and marks the pages that tell of these.
func (c *check) roots() (ids []uint64, err error) {
	err = c.tree(c.root.tree, keyRange{}, func(e element) error {
		if len(e.value) < 16 {
			return damaged("%q is not a bucket of the file", e.key)
		}
		if root := native.Uint64(e.value); root != 0 {
			ids = append(ids, root)
		}
		return nil
	})
	return ids, err
}

// onTree reports whether a page belongs to the tree of a bucket, given their roots: it, or one
// before that goes on in it. Pages that are not on the tree are not looked through for that.
func (c *check) onTree(roots []uint64, id uint64) bool {
	for head := id; head > 1 && !c.used[head]; head-- {
		page, err := c.load(head)
		if err != nil {
			continue // what a page goes on in is no page
		}
		last := head + uint64(len(page))/c.root.pageSize - 1
		elements, _, err := elements(page, head, keyRange{})
		if err != nil {
			continue
		}
		var key []byte
		if len(elements) > 0 {
			key = bytes.Clone(elements[0].key)
		}
		if slices.ContainsFunc(roots, func(root uint64) bool { return c.leads(root, head, key) }) {
			return id <= last
		}
	}
	return false
}

// leads reports whether the way from a root to a key leads through a page.
func (c *check) leads(root, to uint64, key []byte) bool {
	for id, depth := root, 0; depth < maxDepth; depth++ {
		if id == to {
			return true
		}
		page, err := c.load(id)
		if err != nil || native.Uint16(page[8:]) != branchPage {
			return false
		}
		elements, _, err := elements(page, id, keyRange{})
		if err != nil {
			return false
		}
		i, found := slices.BinarySearchFunc(elements, key,
			func(e element, key []byte) int { return bytes.Compare(e.key, key) })
		if !found {
			i = max(0, i-1)
		}
		id = elements[i].child
	}
	return false
}
