package fsm

import (
	"container/list"
	"hash/maphash"

	"github.com/turnlog/turnlog/turn"
)

// window finds an id among a session's last turn.IDWindow messages. It holds a
// fingerprint of each id, by place; what it finds must be checked against the
// record itself. It can be rebuilt from the records at any time.
type window struct {
	next uint64 // seq that the next message will get
	len  int    // number of places filled, ending at next-1
	// prints is a ring: seq stands at seq modulo its length, a power of two.
	prints []uint32
}

const smallWindow = 16

// note adds the message seq, which must not be below next; messages between,
// of which there is no record, had no id that matters.
func (w *window) note(seq uint64, print uint32) {
	for ; w.next < seq; w.next++ {
		w.put(0)
	}
	w.put(print)
	w.next++
}

func (w *window) put(print uint32) {
	if w.len == len(w.prints) && w.len < turn.IDWindow {
		w.grow()
	}
	w.prints[w.next%uint64(len(w.prints))] = print
	w.len = min(w.len+1, len(w.prints))
}

func (w *window) grow() {
	bigger := make([]uint32, max(smallWindow, 2*len(w.prints)))
	for i := range uint64(w.len) {
		seq := w.next - 1 - i
		bigger[seq%uint64(len(bigger))] = w.prints[seq%uint64(len(w.prints))]
	}
	w.prints = bigger
}

// find calls fn with the seq of each message whose fingerprint is print, newest
// first, until fn returns true.
func (w *window) find(print uint32, fn func(seq uint64) bool) {
	for i := range uint64(w.len) {
		seq := w.next - 1 - i
		if w.prints[seq%uint64(len(w.prints))] == print && fn(seq) {
			return
		}
	}
}

// windows keeps the windows of the sessions written to of late, up to a number
// of places altogether. Which to forget is decided by second chance (the clock
// algorithm): a look-up only sets a flag.
type windows struct {
	seed   maphash.Seed
	max    int // places
	places int
	byInc  map[uint64]*list.Element // of windowOf
	clock  list.List                // the next to be forgotten, or spared, last
}

type windowOf struct {
	inc  uint64
	used bool // since it was spared last
	window
}

func newWindows(limit int) *windows {
	return &windows{seed: maphash.MakeSeed(), max: limit, byInc: make(map[uint64]*list.Element)}
}

// print is the fingerprint of an id, 0 for the empty id alone.
func (w *windows) print(id string) uint32 {
	if id == "" {
		return 0
	}
	return uint32(maphash.String(w.seed, id)) | 1
}

func (w *windows) get(inc uint64) *window {
	e := w.byInc[inc]
	if e == nil {
		return nil
	}
	of := e.Value.(*windowOf)
	of.used = true
	return &of.window
}

// add makes an empty window for inc, whose next message is next.
func (w *windows) add(inc, next uint64) *window {
	e := w.clock.PushFront(&windowOf{inc: inc, window: window{next: next}})
	w.byInc[inc] = e
	return &e.Value.(*windowOf).window
}

// note adds a message to the window of inc if it is kept.
func (w *windows) note(inc, seq uint64, id string) {
	if e := w.byInc[inc]; e != nil {
		w.noteIn(&e.Value.(*windowOf).window, seq, id)
	}
}

// noteIn adds a message to win, which is one of w's.
func (w *windows) noteIn(win *window, seq uint64, id string) {
	before := len(win.prints)
	win.note(seq, w.print(id))
	w.places += len(win.prints) - before
}

// shrink forgets windows, unused ones first, down to the bound.
func (w *windows) shrink() {
	for w.places > w.max && w.clock.Len() > 1 {
		e := w.clock.Back()
		of := e.Value.(*windowOf)
		if of.used {
			of.used = false
			w.clock.MoveToFront(e)
			continue
		}
		w.clock.Remove(e)
		delete(w.byInc, of.inc)
		w.places -= len(of.prints)
	}
}

func (w *windows) clear() {
	clear(w.byInc)
	w.clock.Init()
	w.places = 0
}
