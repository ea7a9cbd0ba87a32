package fsm

import (
	"encoding/binary"

	"github.com/tidwall/btree"

	"github.com/turnlog/turnlog/turn"
)

// table holds one generation of changes. The machine writes to the active one;
// at a flush it becomes the frozen one, which nobody changes any more, until the
// store has taken it up. Then it is the warm one until the next flush ends: what
// was written of late is read again soon, and memory is faster than the store.
//
// Looking something up means active, then frozen, then warm, then store: the
// first that knows the key is right. That stays true while a flush is under way
// and after it, since applying a table twice changes nothing.
type table struct {
	// heads: by joined key; nil is a deletion.
	heads map[string]*head
	order order // of the keys of heads
	// tails: by incarnation.
	tails map[uint64]*tail
	// elements: by elementKey.
	elements overlay
	// floors: by incarnation of a stream, the name below which this generation made all
	// entries dead.
	floors map[uint64]string
	// due: additions to the due index, as dueKey. Entries leave the index only
	// by falling due, in order, so the machine's dueFloor tells of removals.
	due btree.Map[string, struct{}]
	// graves: by tombstoneKey.
	graves     btree.Map[string, grave]
	namespaces map[string]*namespace
	bytes      int // estimate of the memory held
	// meta is the state description as of the end of this generation, set when
	// the table is frozen.
	meta meta
	// hash: a hash of the whole state is to be taken as of that end.
	hash bool
}

// tail is what one generation adds to and takes from a session's messages; of a
// key of another type it says only whether it began or ended.
type tail struct {
	// records in seq order, all above what older generations and the store hold.
	records []record
	// edits of messages, of this and older generations.
	edits edits
	// kills, by side: seqs of messages, of this and older generations, that were
	// removed from the upper end of the side, or from among others.
	kills [2]spans
	// cut is the highest seq below which this generation has removed messages
	// from the lower end of a side; 0 if it has not.
	cut uint64
	// complete: the incarnation began in this generation, so that nothing older
	// holds any of it.
	complete bool
	// gone: the incarnation was deleted in this generation; last is its last seq, and
	// moves what was moved.
	gone  bool
	last  uint64
	moves moves
}

// grave remembers a deleted session for the sake of its ids.
type grave struct {
	inc      uint64
	last     uint64
	deadline int64
	moves    moves
}

// Estimates of the memory that a thing takes besides its own bytes.
const (
	recordCost = 96
	headCost   = 300
	keyCost    = 100 // of a head, or of a deletion
	smallCost  = 150
	spanCost   = 16
)

func newTable() *table {
	return &table{
		heads:      make(map[string]*head),
		tails:      make(map[uint64]*tail),
		namespaces: make(map[string]*namespace),
	}
}

func (t *table) setHead(key string, h *head) {
	old, known := t.heads[key]
	if !known {
		t.order.add(key)
		t.bytes += keyCost + len(key)
	}
	if h != nil {
		h.in, h.tail = t, nil
		if old == nil {
			t.bytes += headCost + h.moves.size()
		}
	}
	t.heads[key] = h
}

func (t *table) raiseFloor(inc uint64, name string) {
	if t.floors == nil {
		t.floors = make(map[uint64]string)
	}
	if _, known := t.floors[inc]; !known {
		t.bytes += smallCost
	}
	t.floors[inc] = name
}

func (t *table) tail(inc uint64) *tail {
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
		n += recordCost + len(w.records[i].id) + len(w.records[i].data)
	}
	return n
}

// tailOf is tail for a head that t holds.
func (t *table) tailOf(h *head) *tail {
	if h.tail == nil {
		h.tail = t.tail(h.inc)
	}
	return h.tail
}

// add appends a record to the session of a head that t holds.
func (t *table) add(h *head, r record) {
	w := t.tailOf(h)
	w.records = append(w.records, r)
	t.bytes += recordCost + len(r.id) + len(r.data)
}

func (t *table) kill(inc uint64, side turn.Side, s spans) {
	w := t.tail(inc)
	before := len(w.kills[side])
	w.kills[side] = w.kills[side].with(s)
	t.bytes += spanCost * max(0, len(w.kills[side])-before)
}

// killTop records that all messages of a side from x.from on were removed, of which
// x.to is the highest that was not removed before.
func (t *table) killTop(inc uint64, side turn.Side, x span) {
	w := t.tail(inc)
	before := len(w.kills[side])
	w.kills[side] = w.kills[side].add(x)
	t.bytes += spanCost * max(0, len(w.kills[side])-before)
}

func (t *table) arm(deadline int64, key string) {
	t.due.Set(dueKey(deadline, key), struct{}{})
	t.bytes += smallCost + len(key)
}

func (t *table) bury(key string, g grave) {
	t.graves.Set(key, g)
	t.bytes += smallCost + len(key) + g.moves.size()
}

// dueKey orders by deadline, then key.
func dueKey(deadline int64, key string) string {
	b := make([]byte, 8, 8+len(key))
	binary.BigEndian.PutUint64(b, uint64(deadline))
	return string(append(b, key...))
}

func splitDueKey(k string) (deadline int64, key string) {
	return int64(binary.BigEndian.Uint64([]byte(k[:8]))), k[8:]
}
