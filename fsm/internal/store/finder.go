package store

import (
	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// finder finds blocks in a transaction that writes. It uses its cursor
// again and again, and so every answer is valid until the next question.
type finder struct {
	cursor *bbolt.Cursor
	// low is a key that is there, and was the lowest once; nil: none is known.
	low []byte
}

func newFinder(b pairs) finder { return finder{cursor: b.Cursor()} }

// removed must be told of keys that go.
func (f *finder) removed(key []byte) {
	if string(key) == string(f.low) {
		f.low = nil
	}
}

// get returns what is stored under a key, nil if nothing is.
func (f *finder) get(key []byte) []byte {
	if k, v := f.cursor.Seek(key); k != nil && string(k) == string(key) {
		return v
	}
	return nil
}

// maxEmptyPages is more pages than a transaction empties.
const maxEmptyPages = 1 << 20

// lastUpTo finds the last key ≤ key, and returns the cursor, which is there. As in reads (see
// cursor.go), the pairs on both sides must be whole and in order.
//
// In a transaction that has deleted keys there can be empty pages. bbolt's Prev
// answers nil on one although keys lie before it, and its Last never returns if
// there is nothing else. So it is asked for what precedes only if something does.
func (f *finder) lastUpTo(key []byte) (c *bbolt.Cursor, k, v []byte, err error) {
	if precedes, err := f.precedes(key); err != nil || !precedes {
		return f.cursor, nil, nil, err
	}
	above, aboveV := f.cursor.Seek(key)
	switch {
	case above == nil:
		k, v = f.cursor.Last()
	case string(above) == string(key):
		return f.cursor, above, aboveV, nil
	default:
		for range maxEmptyPages {
			if k, v = f.cursor.Prev(); k != nil {
				break
			}
		}
	}
	if k == nil || string(k) > string(key) || above != nil && string(above) < string(key) {
		return f.cursor, nil, nil, misled(layout.BucketBlocks, key)
	}
	if err = layout.WholePair(layout.BucketBlocks, k, v); err == nil && above != nil {
		err = layout.WholePair(layout.BucketBlocks, above, aboveV)
	}
	return f.cursor, k, v, err
}

// precedes reports whether there is a key ≤ key.
func (f *finder) precedes(key []byte) (bool, error) {
	if f.low == nil || string(f.low) > string(key) {
		low, v := f.cursor.First()
		f.low = append(f.low[:0:0], low...) // nil if there is none
		if low != nil {
			if err := layout.WholePair(layout.BucketBlocks, low, v); err != nil {
				return false, err
			}
		}
	}
	return f.low != nil && string(f.low) <= string(key), nil
}
