package fsm

import (
	"slices"
	"sync"

	"github.com/turnlog/turnlog/fsm/blockfile"
)

// workspace is memory for what one reading takes out of block files. It goes from one
// to the next, so that most readings leave nothing behind for the garbage collector.
type workspace struct {
	blobs   [keepBlocks][]byte
	records [32]record
}

// maxLent is the size up to which a block is read into a workspace.
const maxLent = 2 * blockBytes

// lent is a reading's use of a workspace: it has none before it needs one. Only for
// the goroutine that reads.
type lent struct {
	from  *sync.Pool // nil: none is to be had
	space *workspace
	// in use:
	blobs   int
	records bool
	// passing: every block is read to passed.
	passing bool
	passed  []byte
}

func (l *lent) take() *workspace {
	if l.space == nil && l.from != nil {
		if l.space, _ = l.from.Get().(*workspace); l.space == nil {
			l.space = new(workspace)
		}
	}
	return l.space
}

// blob returns memory for a block, nil if there is no more.
func (l *lent) blob(size int64) []byte {
	if l.passing {
		l.passed = slices.Grow(l.passed[:0], int(size))
		return l.passed
	}
	if size > maxLent || l.blobs == keepBlocks {
		return nil
	}
	w := l.take()
	if w == nil {
		return nil
	}
	b := &w.blobs[l.blobs]
	l.blobs++
	*b = slices.Grow((*b)[:0], int(size))
	return *b
}

// scratch returns memory for records, nil if it is in use.
func (l *lent) scratch() []record {
	if l.records || l.take() == nil {
		return nil
	}
	l.records = true
	return l.space.records[:0]
}

// giveBack ends the use.
func (l *lent) giveBack() {
	if l.space != nil {
		l.from.Put(l.space)
		l.space = nil
	}
}

// reuser is a blobs that reads into memory of its own: a block is valid until the
// next one is read.
type reuser struct {
	from blobs
	buf  []byte
}

func (r *reuser) Read(_, key []byte, ref blockfile.Ref) ([]byte, error) {
	if ref.Size() <= maxLent {
		r.buf = slices.Grow(r.buf[:0], int(ref.Size()))
	}
	return r.from.Read(r.buf, key, ref)
}
