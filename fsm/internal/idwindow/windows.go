// Package idwindow finds messages by their ids among the last turn.IDWindow messages of each session, without reading
// the messages.
//
// A window is a ring of 32-bit fingerprints, one for each message. It may find a message that has another id, and its
// caller compares the record; it never misses one. Beside them it has the calls that some messages tell of. Windows are
// a cache over the records: within a bound of memory, those of the sessions that were used last are kept, and others
// are rebuilt when they are needed, so that they affect the time that an operation takes and never its result. Windows
// belong to the goroutine that applies entries.
package idwindow

import (
	"bytes"
	"container/list"
	"hash/maphash"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// ring finds an id among the last turn.IDWindow messages that were appended to a
// session. Its seqs are their ordinals: those of messages that an edit moved are left out
// (layout.Moves). It holds a fingerprint of each id, by place; what it finds must be checked
// against the record itself. It can be rebuilt from the records at any time.
type ring struct {
	Next uint64 // seq that the next message will get
	len  int    // number of places filled, ending at next-1
	// prints is a ring: seq is at seq modulo its length, a power of two.
	prints []uint32
	// few has a byte of each print. Every append of a message with an id
	// looks through all of the window: for a byte, that takes a few instructions
	// for 32 places.
	few []byte
}

const (
	smallWindow = 16
	placeBytes  = 4 + 1 // of prints and few
)

// note adds the message seq, which must not be below next; messages between,
// of which there is no record, had no id that matters.
func (w *ring) note(seq uint64, print uint32) {
	for ; w.Next < seq; w.Next++ {
		w.put(0)
	}
	w.put(print)
	w.Next++
}

func (w *ring) put(print uint32) {
	if w.len == len(w.prints) && w.len < turn.IDWindow {
		w.grow()
	}
	at := w.at(w.Next)
	w.prints[at], w.few[at] = print, abridge(print)
	w.len = min(w.len+1, len(w.prints))
}

// abridge returns the byte of a print that few keeps: not the lowest, of which one bit
// is always set.
func abridge(print uint32) byte { return byte(print >> 8) }

// at returns the place of a seq.
func (w *ring) at(seq uint64) int { return int(seq & uint64(len(w.prints)-1)) }

func (w *ring) grow() {
	old := *w
	n := max(smallWindow, 2*len(old.prints))
	w.prints, w.few = make([]uint32, n), make([]byte, n)
	for seq := w.Next - uint64(w.len); seq < w.Next; seq++ {
		print := old.prints[old.at(seq)]
		w.prints[w.at(seq)], w.few[w.at(seq)] = print, abridge(print)
	}
}

// Find calls fn with the seq of each message whose fingerprint is print, newest
// first, until fn returns true.
func (w *ring) Find(print uint32, fn func(seq uint64) bool) {
	for left, next := w.len, w.Next; left > 0; {
		// The run of places that ends with that of next-1.
		end := w.at(next-1) + 1
		begin := max(0, end-left)
		var places [8]int
		found := places[:0] // in rising order
		for at := begin; at < end; at++ {
			i := bytes.IndexByte(w.few[at:end], abridge(print))
			if i < 0 {
				break
			}
			if at += i; w.prints[at] == print {
				found = append(found, at)
			}
		}
		for _, at := range slices.Backward(found) {
			if fn(next - uint64(end-at)) {
				return
			}
		}
		left, next = left-(end-begin), next-uint64(end-begin)
	}
}

// Among calls fn with each message whose fingerprint is in a set, newest first.
func (w *ring) Among(set *Prints, fn func(ordinal uint64, print uint32)) {
	for i := range uint64(w.len) {
		ordinal := w.Next - 1 - i
		if print := w.prints[w.at(ordinal)]; print != 0 && set.Has(print) {
			fn(ordinal, print)
		}
	}
}

// Windows keeps the windows of the sessions written to recently, up to a number
// of places altogether. Which to forget is decided by second chance (the clock
// algorithm): a look-up only sets a flag.
type Windows struct {
	seed   maphash.Seed
	max    int // places
	places int
	byInc  map[uint64]*list.Element // of Window
	clock  list.List                // the next to be forgotten, or spared, last
}

// Window is the window of one incarnation.
type Window struct {
	inc       uint64
	used      bool // since it was spared last
	forgotten bool
	ring
	calls calls
}

// places is how much memory the window takes.
func (of *Window) places() int { return len(of.prints) + callPlaces*cap(of.calls) }

// New returns windows that take so much memory at most.
func New(bytes int) *Windows {
	return &Windows{seed: maphash.MakeSeed(), max: bytes / placeBytes, byInc: make(map[uint64]*list.Element)}
}

// Print is the fingerprint of an id, 0 for the empty id alone.
func (w *Windows) Print(id string) uint32 {
	if id == "" {
		return 0
	}
	return uint32(maphash.String(w.seed, id)) | 1
}

// Get returns the window of an incarnation, nil if it is not kept.
func (w *Windows) Get(inc uint64) *Window {
	e := w.byInc[inc]
	if e == nil {
		return nil
	}
	of := e.Value.(*Window)
	of.used = true
	return of
}

// Of is Get for a caller that kept what Get or Add returned before; nil: it did not.
func (w *Windows) Of(inc uint64, kept *Window) *Window {
	if kept == nil || kept.forgotten {
		return w.Get(inc)
	}
	kept.used = true
	return kept
}

// Add makes an empty window for inc, whose next message is next.
func (w *Windows) Add(inc, next uint64) *Window {
	of := &Window{inc: inc, ring: ring{Next: next}}
	w.byInc[inc] = w.clock.PushFront(of)
	return of
}

// Note adds a message to a window.
func (w *Windows) Note(of *Window, seq uint64, id string) {
	before := of.places()
	of.note(seq, w.Print(id))
	w.places += of.places() - before
}

// NoteCall adds a call to a window, which the message that was noted last tells of.
func (w *Windows) NoteCall(of *Window, c *Call) {
	before := of.places()
	of.calls = append(of.calls.since(of.Next-uint64(of.len)), *c)
	w.places += of.places() - before
}

// maxSpared is how many windows in a row are spared at most while Apply waits.
const maxSpared = 1_000

// Shrink forgets windows, unused ones first, down to the bound.
func (w *Windows) Shrink() { w.ShrinkTo(w.max) }

// ShrinkTo is Shrink down to so many places, but for one window.
func (w *Windows) ShrinkTo(places int) {
	for spared := 0; w.places > places && w.clock.Len() > 1; {
		e := w.clock.Back()
		of := e.Value.(*Window)
		if of.used && spared < maxSpared {
			spared++
			of.used = false
			w.clock.MoveToFront(e)
			continue
		}
		w.clock.Remove(e)
		delete(w.byInc, of.inc)
		w.places -= of.places()
		*of = Window{forgotten: true} // heads may still refer to it
	}
}

// Clear forgets all windows. Those that callers kept may no longer be used.
func (w *Windows) Clear() {
	clear(w.byInc)
	w.clock.Init()
	w.places = 0
}
