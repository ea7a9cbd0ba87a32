package fsm

import "go.etcd.io/bbolt"

// finder finds keys of a bucket in a transaction that writes. It uses its cursor
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

// lastUpTo finds the last key ≤ key, and returns the cursor, which is there.
//
// In a transaction that has deleted keys there can be empty pages. bbolt's Prev
// answers nil on one although keys lie before it, and its Last never returns if
// there is nothing else. So it is asked for what precedes only if something does.
func (f *finder) lastUpTo(key []byte) (c *bbolt.Cursor, k, v []byte) {
	if !f.precedes(key) {
		return f.cursor, nil, nil
	}
	k, v = f.cursor.Seek(key)
	switch {
	case k == nil:
		k, v = f.cursor.Last()
	case string(k) != string(key):
		for k = nil; k == nil; {
			k, v = f.cursor.Prev()
		}
	}
	return f.cursor, k, v
}

// precedes reports whether there is a key ≤ key.
func (f *finder) precedes(key []byte) bool {
	if f.low == nil || string(f.low) > string(key) {
		low, _ := f.cursor.First()
		f.low = append(f.low[:0:0], low...) // nil if there is none
	}
	return f.low != nil && string(f.low) <= string(key)
}
