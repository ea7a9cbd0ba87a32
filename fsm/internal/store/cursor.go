package store

import (
	"encoding/binary"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// A flipped bit in a key leaves the pair in its place, but may mislead a search, or have a
// walk take the pair for one beyond its end. So the pairs on both sides of where a search
// arrives must be whole and in order, and so must each pair that a walk comes to, the one at
// which it ends included: else what is stored would be taken for absent.
//
// That a pair is whole does not say that its page is: a damaged head of a page or of an element can
// hide pairs between two whole ones. A flush verifies whole pages before it changes them
// (update.go), the scrub all of them.

// Cursor is a cursor of a bucket, in a transaction that only reads.
type Cursor struct {
	*bbolt.Cursor
	bucket []byte
	known  *knownPairs
}

// CursorOf returns a cursor of a bucket.
func (r *Reading) CursorOf(bucket []byte) Cursor {
	return Cursor{r.Bucket(bucket).Cursor(), bucket, r.known}
}

// Pair is a pair of a bucket. Its key is nil if there is none.
type Pair struct{ Key, Value []byte }

func (p Pair) Is(key []byte) bool { return p.Key != nil && string(p.Key) == string(key) }

// Get returns what is stored under a key of a bucket, nil if nothing is: what it returns is not
// held against its seal. It is valid for as long as the transaction.
func (r *Reading) Get(bucket, key []byte) ([]byte, error) {
	c := &r.lookups[0]
	if string(bucket) == string(layout.BucketElements) {
		c = &r.lookups[1]
	}
	if string(c.bucket) != string(bucket) {
		*c = r.CursorOf(bucket)
	}
	p, _, err := c.Around(key)
	if err != nil || !p.Is(key) {
		return nil, err
	}
	return p.Value, nil
}

// Around moves the cursor to the last key ≤ key, and returns its pair and, if it has another
// key, the next pair. Both are whole then. If there is no such key, the cursor is at above.
func (c *Cursor) Around(key []byte) (upTo, above Pair, err error) {
	below, above, err := c.Search(key)
	if above.Is(key) {
		return above, Pair{}, nil
	}
	if err == nil {
		err = c.Whole(below)
	}
	if err == nil {
		err = c.Whole(above)
	}
	return below, above, err
}

// Search returns the first pair with a key ≥ key and, unless it has that key, the one before,
// where the cursor is then, if there is one. They are in order, but were not held against their
// seals.
func (c *Cursor) Search(key []byte) (below, above Pair, err error) {
	above.Key, above.Value = c.Seek(key)
	switch {
	case above.Key == nil:
		below.Key, below.Value = c.Last()
	case above.Is(key):
		return below, above, nil
	default:
		below.Key, below.Value = c.Prev()
	}
	if below.Key != nil && string(below.Key) >= string(key) || above.Key != nil && string(above.Key) < string(key) {
		err = misled(c.bucket, key)
	}
	return below, above, err
}

func misled(bucket, key []byte) error {
	return turn.Errorf(turn.Corrupt, "%s is damaged: the search for key %x of bucket %s leads elsewhere", storeName,
		string(key), bucket)
}

// Whole holds a pair against its seal: one that is not read itself.
func (c *Cursor) Whole(p Pair) error {
	if p.Key == nil || len(p.Value) >= largePair && c.known.has(p) {
		return nil
	}
	err := layout.WholePair(c.bucket, p.Key, p.Value)
	if err == nil && len(p.Value) >= largePair {
		c.known.add(p)
	}
	return err
}

// knownPairs remembers large pairs that were whole: a search often arrives beside the same one,
// and its value need not be read again to see that it still has the same key.
type knownPairs struct {
	mu  sync.Mutex
	all map[pairPrint]struct{}
}

// pairPrint is a checksum of a pair's key, its seal's checksum, and the length of its value.
type pairPrint struct {
	key, seal uint32
	size      int
}

const (
	// largePair is from how many bytes on a value takes longer to read than to remember.
	largePair = 32 << 10
	// maxKnownPairs bounds what is remembered.
	maxKnownPairs = 4096
)

func (p Pair) print() pairPrint {
	return pairPrint{layout.Checksum(p.Key), binary.LittleEndian.Uint32(p.Value[1:]), len(p.Value)}
}

// has reports whether a pair is known. n may be nil: then none is.
func (n *knownPairs) has(p Pair) bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	_, known := n.all[p.print()]
	return known
}

func (n *knownPairs) add(p Pair) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil || len(n.all) >= maxKnownPairs {
		n.all = make(map[pairPrint]struct{})
	}
	n.all[p.print()] = struct{}{}
}
