package fsm

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
// (storeupdate.go), the scrub all of them.

// bucketCursor is a cursor of a bucket, in a transaction that only reads.
type bucketCursor struct {
	*bbolt.Cursor
	bucket []byte
	known  *knownPairs
}

func (r *reading) cursor(bucket []byte) bucketCursor {
	return bucketCursor{r.Bucket(bucket).Cursor(), bucket, r.known}
}

// storedPair is a pair of a bucket. Its key is nil if there is none.
type storedPair struct{ key, value []byte }

func (p storedPair) is(key []byte) bool { return p.key != nil && string(p.key) == string(key) }

// get returns what is stored under a key of a bucket, nil if nothing is: what it returns is not
// held against its seal. It is valid for as long as the transaction.
func (r *reading) get(bucket, key []byte) ([]byte, error) {
	c := &r.lookups[0]
	if string(bucket) == string(layout.BucketElements) {
		c = &r.lookups[1]
	}
	if string(c.bucket) != string(bucket) {
		*c = r.cursor(bucket)
	}
	p, _, err := c.around(key)
	if err != nil || !p.is(key) {
		return nil, err
	}
	return p.value, nil
}

// around moves the cursor to the last key ≤ key, and returns its pair and, if it has another
// key, the next pair. Both are whole then. If there is no such key, the cursor is at above.
func (c *bucketCursor) around(key []byte) (upTo, above storedPair, err error) {
	below, above, err := c.search(key)
	if above.is(key) {
		return above, storedPair{}, nil
	}
	if err == nil {
		err = c.whole(below)
	}
	if err == nil {
		err = c.whole(above)
	}
	return below, above, err
}

// search returns the first pair with a key ≥ key and, unless it has that key, the one before,
// where the cursor is then, if there is one. They are in order, but were not held against their
// seals.
func (c *bucketCursor) search(key []byte) (below, above storedPair, err error) {
	above.key, above.value = c.Seek(key)
	switch {
	case above.key == nil:
		below.key, below.value = c.Last()
	case above.is(key):
		return below, above, nil
	default:
		below.key, below.value = c.Prev()
	}
	if below.key != nil && string(below.key) >= string(key) || above.key != nil && string(above.key) < string(key) {
		err = misled(c.bucket, key)
	}
	return below, above, err
}

func misled(bucket, key []byte) error {
	return turn.Errorf(turn.Corrupt, "%s is damaged: the search for key %x of bucket %s leads elsewhere", storeName,
		string(key), bucket)
}

// whole holds a pair against its seal: one that is not read itself.
func (c *bucketCursor) whole(p storedPair) error {
	if p.key == nil || len(p.value) >= largePair && c.known.has(p) {
		return nil
	}
	err := layout.WholePair(c.bucket, p.key, p.value)
	if err == nil && len(p.value) >= largePair {
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

func (p storedPair) print() pairPrint {
	return pairPrint{layout.Checksum(p.key), binary.LittleEndian.Uint32(p.value[1:]), len(p.value)}
}

// has reports whether a pair is known. n may be nil: then none is.
func (n *knownPairs) has(p storedPair) bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	_, known := n.all[p.print()]
	return known
}

func (n *knownPairs) add(p storedPair) {
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
