package resp

import "sync/atomic"

// Memory is what the memory of a reader is charged to.
type Memory interface {
	// Take reports whether n bytes were left, and takes them. Give gives them back.
	Take(n int) bool
	Give(n int)
}

// Budget is an amount of memory that several readers share. Its methods may be
// called by any goroutine.
type Budget struct {
	max  int64
	used atomic.Int64
}

// NewBudget returns a budget of max bytes.
func NewBudget(max int64) *Budget { return &Budget{max: max} }

// Used returns the number of bytes that are taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Take reports whether n bytes were left, and takes them. A nil Budget has no end.
func (b *Budget) Take(n int) bool {
	if b == nil {
		return true
	}
	if b.used.Add(int64(n)) > b.max {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

// Force takes n bytes, whether they are left or not.
func (b *Budget) Force(n int) {
	if b != nil {
		b.used.Add(int64(n))
	}
}

// Give gives n bytes back.
func (b *Budget) Give(n int) {
	if b != nil {
		b.used.Add(-int64(n))
	}
}
