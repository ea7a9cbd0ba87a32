package memtable

import (
	"github.com/tidwall/btree"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/tags"
	"github.com/turnlog/turnlog/turn"
)

// Table holds changes that are not in the store yet. The machine writes to the active
// one; at a flush it becomes the frozen one, which does not change any more, until the
// store has taken it up. Then it is the warm one until the next flush ends: what
// was written recently is read again soon, and memory is faster than the store.
//
// Looking something up means active, then frozen, then warm, then store: the
// first that knows the key is right. That stays true while a flush is running
// and after it, since applying a table twice changes nothing.
type Table struct {
	// Heads: by joined key; nil is a deletion.
	Heads map[string]*Head
	Order order // of the keys of heads
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
	Namespaces map[string]*layout.Namespace
	Bytes      int // estimate of the memory held
	// Meta and tags are as of the end of this memtable, set when it is frozen.
	Meta layout.Meta
	tags tags.Set
	// Hash: a hash of the whole state is to be taken as of that end.
	Hash bool
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
	RecordCost = 96
	headCost   = 300
	keyCost    = 100 // of a head, or of a deletion
	smallCost  = 150
	SpanCost   = 16
	TurnCost   = 8 // of the seq at which a turn begins
	CallCost   = 16
)

func NewTable() *Table {
	return &Table{
		Heads:      make(map[string]*Head),
		tails:      make(map[uint64]*tail),
		Namespaces: make(map[string]*layout.Namespace),
	}
}

func (t *Table) SetHead(key string, h *Head) {
	old, known := t.Heads[key]
	if !known {
		t.Order.add(key)
		t.Bytes += keyCost + len(key)
	}
	if h != nil {
		h.in, h.tail = t, nil
		if old == nil {
			t.Bytes += headCost + movesSize(h.Moves) + keptSize(h)
		}
	}
	t.Heads[key] = h
}

func (t *Table) RaiseFloor(inc uint64, name string) {
	if t.floors == nil {
		t.floors = make(map[uint64]string)
	}
	if _, known := t.floors[inc]; !known {
		t.Bytes += smallCost
	}
	t.floors[inc] = name
}

func (t *Table) tailFor(inc uint64) *tail {
	w := t.tails[inc]
	if w == nil {
		w = new(tail)
		t.tails[inc] = w
		t.Bytes += smallCost
	}
	return w
}

// size estimates the memory of the records.
func (w *tail) size() (n int) {
	for i := range w.records {
		n += sizeOf(&w.records[i])
	}
	return n
}

// tailOf is tail for a head that t holds.
func (t *Table) tailOf(h *Head) *tail {
	if h.tail == nil {
		h.tail = t.tailFor(h.Inc)
	}
	return h.tail
}

// Add appends a record to the session of a head that t holds.
func (t *Table) Add(h *Head, r layout.Record) {
	w := t.tailOf(h)
	w.records = append(w.records, r)
	t.Bytes += sizeOf(&r)
}

// sizeOf estimates the memory of a record.
func sizeOf(r *layout.Record) int {
	n := RecordCost + len(r.ID) + len(r.Data)
	if r.Notes != nil {
		n += layout.NotesCost
	}
	return n
}

func (t *Table) RemoveRuns(inc uint64, side turn.Side, s layout.Spans) {
	w := t.tailFor(inc)
	before := len(w.removed[side])
	w.removed[side] = w.removed[side].With(s)
	t.Bytes += SpanCost * max(0, len(w.removed[side])-before)
}

// RemoveTop records that all messages of a side from x.from on were removed, of which
// x.to is the highest that was not removed before.
func (t *Table) RemoveTop(inc uint64, side turn.Side, x layout.Span) {
	w := t.tailFor(inc)
	before := len(w.removed[side])
	w.removed[side] = w.removed[side].Add(x)
	t.Bytes += SpanCost * max(0, len(w.removed[side])-before)
}

func (t *Table) ScheduleExpiry(deadline int64, key string) {
	t.due.Set(layout.DueKey(deadline, key), struct{}{})
	t.Bytes += smallCost + len(key)
}

func (t *Table) AddTombstone(key string, g layout.Tombstone) {
	t.tombstones.Set(key, g)
	t.Bytes += smallCost + len(key) + movesSize(g.Moves) + len(g.Renamed.To)
}

// movesSize estimates the memory of the runs.
func movesSize(v layout.Moves) int { return SpanCost * len(v.Runs) }

// keptSize estimates the memory of what a session's retention needs.
func keptSize(h *Head) int {
	return TurnCost*len(h.Turns) + CallCost*len(h.Open) + SpanCost*len(h.Dropped)
}

// Begin makes a head for a key that holds nothing, of an incarnation that begins in t.
func (t *Table) Begin(key string, h *Head) {
	t.SetHead(key, h)
	t.tailOf(h).complete = true
}

// Began reports whether the incarnation of a head that t holds began in t.
func (t *Table) Began(h *Head) bool { return t.tailOf(h).complete }

// Remove deletes a key, whose head was h.
func (t *Table) Remove(key string, h *Head) {
	t.SetHead(key, nil)
	w := t.tailFor(h.Inc)
	w.gone = true
	if h.Type == turn.TypeList {
		w.last, w.moves, w.cut = h.Last, h.Moves, h.Last+1
	}
}

// RemoveBelow records that messages below seq were removed from the lower end of a side.
func (t *Table) RemoveBelow(inc, seq uint64) {
	w := t.tailFor(inc)
	w.cut = max(w.cut, seq)
}

// Count adds to the estimate of the memory.
func (t *Table) Count(bytes int) { t.Bytes += bytes }

// Move records that the messages of a head that t holds were moved to seqs.
func (t *Table) Move(h *Head, to layout.Span) {
	before := movesSize(h.Moves)
	h.Moves = h.Moves.With(to)
	t.Bytes += movesSize(h.Moves) - before
}
