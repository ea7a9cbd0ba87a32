package fsm

import (
	"github.com/tidwall/btree"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/tags"
	"github.com/turnlog/turnlog/turn"
)

// memtable holds changes that are not in the store yet. The machine writes to the active
// one; at a flush it becomes the frozen one, which does not change any more, until the
// store has taken it up. Then it is the warm one until the next flush ends: what
// was written recently is read again soon, and memory is faster than the store.
//
// Looking something up means active, then frozen, then warm, then store: the
// first that knows the key is right. That stays true while a flush is running
// and after it, since applying a table twice changes nothing.
type memtable struct {
	// heads: by joined key; nil is a deletion.
	heads map[string]*head
	order order // of the keys of heads
	// tails: by incarnation.
	tails map[uint64]*tail
	// elements: by ElementKey.
	elements overlay
	// floors: by incarnation of a stream, the name below which this memtable made all
	// entries dead.
	floors map[uint64]string
	// due: additions to the due index, as DueKey. Entries leave the index only
	// by their time, in order, so the machine's DueFloor tells of removals.
	due btree.Map[string, struct{}]
	// tombstones: by TombstoneKey.
	tombstones btree.Map[string, layout.Tombstone]
	namespaces map[string]*layout.Namespace
	bytes      int // estimate of the memory held
	// meta and tags are as of the end of this memtable, set when it is frozen.
	meta layout.Meta
	tags tags.Set
	// hash: a hash of the whole state is to be taken as of that end.
	hash bool
}

// tail is what one memtable adds to and takes from a session's messages; of a
// key of another type it says only whether it began or ended.
type tail struct {
	// records in seq order, all above what older memtables and the store hold.
	records []layout.Record
	// edits of messages, of this and older memtables.
	edits edits
	// removed, by side: seqs of messages, of this and older memtables, that were
	// removed from the upper end of the side, or from among others.
	removed [2]layout.Spans
	// cut is the highest seq below which this memtable has removed messages
	// from the lower end of a side; 0 if it has not.
	cut uint64
	// complete: the incarnation began in this memtable, so that nothing older
	// holds any of it.
	complete bool
	// gone: the incarnation was deleted in this memtable; last is its last seq, and
	// moves what was moved.
	gone  bool
	last  uint64
	moves layout.Moves
}

// Estimates of the memory that a thing takes besides its own bytes.
const (
	recordCost = 96
	headCost   = 300
	keyCost    = 100 // of a head, or of a deletion
	smallCost  = 150
	spanCost   = 16
)

func newMemtable() *memtable {
	return &memtable{
		heads:      make(map[string]*head),
		tails:      make(map[uint64]*tail),
		namespaces: make(map[string]*layout.Namespace),
	}
}

func (t *memtable) setHead(key string, h *head) {
	old, known := t.heads[key]
	if !known {
		t.order.add(key)
		t.bytes += keyCost + len(key)
	}
	if h != nil {
		h.in, h.tail = t, nil
		if old == nil {
			t.bytes += headCost + movesSize(h.Moves)
		}
	}
	t.heads[key] = h
}

func (t *memtable) raiseFloor(inc uint64, name string) {
	if t.floors == nil {
		t.floors = make(map[uint64]string)
	}
	if _, known := t.floors[inc]; !known {
		t.bytes += smallCost
	}
	t.floors[inc] = name
}

func (t *memtable) tail(inc uint64) *tail {
	w := t.tails[inc]
	if w == nil {
		w = new(tail)
		t.tails[inc] = w
		t.bytes += smallCost
	}
	return w
}

// size estimates the memory of the records.
func (w *tail) size() (n int) {
	for i := range w.records {
		n += recordCost + len(w.records[i].ID) + len(w.records[i].Data)
	}
	return n
}

// tailOf is tail for a head that t holds.
func (t *memtable) tailOf(h *head) *tail {
	if h.tail == nil {
		h.tail = t.tail(h.Inc)
	}
	return h.tail
}

// add appends a record to the session of a head that t holds.
func (t *memtable) add(h *head, r layout.Record) {
	w := t.tailOf(h)
	w.records = append(w.records, r)
	t.bytes += recordCost + len(r.ID) + len(r.Data)
}

func (t *memtable) removeRuns(inc uint64, side turn.Side, s layout.Spans) {
	w := t.tail(inc)
	before := len(w.removed[side])
	w.removed[side] = w.removed[side].With(s)
	t.bytes += spanCost * max(0, len(w.removed[side])-before)
}

// removeTop records that all messages of a side from x.from on were removed, of which
// x.to is the highest that was not removed before.
func (t *memtable) removeTop(inc uint64, side turn.Side, x layout.Span) {
	w := t.tail(inc)
	before := len(w.removed[side])
	w.removed[side] = w.removed[side].Add(x)
	t.bytes += spanCost * max(0, len(w.removed[side])-before)
}

func (t *memtable) scheduleExpiry(deadline int64, key string) {
	t.due.Set(layout.DueKey(deadline, key), struct{}{})
	t.bytes += smallCost + len(key)
}

func (t *memtable) addTombstone(key string, g layout.Tombstone) {
	t.tombstones.Set(key, g)
	t.bytes += smallCost + len(key) + movesSize(g.Moves)
}
