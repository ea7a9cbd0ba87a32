package store

import (
	"slices"
	"sync"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// workspace is memory for what one reading takes out of block files. It goes from one
// to the next, so that most readings leave nothing behind for the garbage collector.
type workspace struct {
	blobs   [KeepBlocks][]byte
	records [32]layout.Record
}

// maxBorrowed is the size up to which a block is read into a workspace.
const maxBorrowed = 2 * layout.BlockBytes

// borrower is a reading's use of a workspace: it has none before it needs one. Only for
// the goroutine that reads.
type borrower struct {
	from  *sync.Pool // nil: none is to be had
	space *workspace
	// in use:
	blobs   int
	records bool
	// passing: every block is read to passed.
	passing bool
	passed  []byte
}

func (b *borrower) take() *workspace {
	if b.space == nil && b.from != nil {
		if b.space, _ = b.from.Get().(*workspace); b.space == nil {
			b.space = new(workspace)
		}
	}
	return b.space
}

// blob returns memory for a block, nil if there is no more.
func (b *borrower) blob(size int64) []byte {
	if b.passing {
		b.passed = slices.Grow(b.passed[:0], int(size))
		return b.passed
	}
	if size > maxBorrowed || b.blobs == KeepBlocks {
		return nil
	}
	w := b.take()
	if w == nil {
		return nil
	}
	blob := &w.blobs[b.blobs]
	b.blobs++
	*blob = slices.Grow((*blob)[:0], int(size))
	return *blob
}

// scratch returns memory for records, nil if it is in use.
func (b *borrower) scratch() []layout.Record {
	if b.records || b.take() == nil {
		return nil
	}
	b.records = true
	return b.space.records[:0]
}

// giveBack ends the use.
func (b *borrower) giveBack() {
	if b.space != nil {
		b.from.Put(b.space)
		b.space = nil
	}
}

// reuser is a blobs that reads into memory of its own: a block is valid until the
// next one is read.
type reuser struct {
	from blobs
	buf  []byte
}

func (r *reuser) Read(_, key []byte, ref blockfile.Ref) ([]byte, error) {
	if ref.Size() <= maxBorrowed {
		r.buf = slices.Grow(r.buf[:0], int(ref.Size()))
	}
	return r.from.Read(r.buf, key, ref)
}

// Passing has blocks read into the same memory, one after the other, until the function
// that it returns is called: records are valid only until the next block is read.
func (r *Reading) Passing() (end func()) {
	r.memory.passing = true
	return func() { r.memory.passing, r.memory.passed = false, nil }
}

// Scratch returns memory for records, nil if it is in use.
func (r *Reading) Scratch() []layout.Record { return r.memory.scratch() }

// KeepBlocks is how many blocks of one view go into the cache at most: a walk through
// a long session shall not turn out the ends of all others.
const KeepBlocks = 16
