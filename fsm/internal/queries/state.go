package queries

import (
	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// State is how a query gets at the state. Its methods say in r which state that is; those for one
// key describe it there, and call fn only if it exists.
type State interface {
	// Session lets fn, unless it is nil, read the messages of a session; without fn the key may be
	// of any type. enough tells of a view without the store whether fn needs no more.
	Session(k turn.Key, r *turn.Result, enough func(*memtable.Head, *memtable.View) bool,
		fn func(*memtable.Head, *memtable.View) error) error
	// Value lets fn read the elements of a key of another type. fn may be called twice.
	Value(k turn.Key, typ turn.Type, mode LookupMode, r *turn.Result, fn func(*memtable.Elements) error) error
	// EachPart lets fn read the keys, part by part, until it is done. What r tells of the state is true
	// of the first part; later ones are as of then or later.
	EachPart(r *turn.Result, fn func(ks *keyspace.Keys, tx *store.Reading) (done bool, err error)) error
	// Moment lets fn read the keys of one moment. fn calls free when it needs no more of ks, only of tx.
	Moment(r *turn.Result, fn func(ks *keyspace.Keys, tx *store.Reading, free func()) error) error
	// Search is called before keys are passed in search of some, and PassedKeys when n of them were: that
	// may have a cost.
	Search() error
	PassedKeys(n uint64)
	// Spent takes a cost, counted in bytes as an entry's allowance is.
	Spent(n uint64)
	// ReadBytes returns how many bytes of payload an answer may have, ReadMessages how many messages, and AnswerBytes
	// what it may count for in all: see turn.Limits.
	ReadBytes() int
	ReadMessages() int
	AnswerBytes() int
}

// LookupMode tells how much is read of a value.
type LookupMode uint8

// The modes.
const (
	ByName LookupMode = iota // a few elements
	Ranges                   // ranges of elements, or many
)

// maxByName is how many elements are looked up by name while Apply waits.
const maxByName = 64

// ReadSession has fn, unless it is nil, read the messages of h, and describes it in r. Without fn the key may
// be of any type.
func ReadSession(
	h *memtable.Head, v *memtable.View, k turn.Key, r *turn.Result, fn func(*memtable.Head, *memtable.View) error,
) error {
	Describe(h, k, r)
	if fn == nil {
		return nil
	}
	if err := h.CheckType(turn.TypeList); err != nil {
		return err
	}
	return fn(h, v)
}

// ReadValue has fn read the elements of h, which may be nil, as of the state that r tells.
func ReadValue(
	h *memtable.Head, e *memtable.Elements, k turn.Key, typ turn.Type, r *turn.Result,
	fn func(*memtable.Elements) error,
) error {
	if !h.Held() || h.Expired(r.Time) {
		return nil
	}
	if err := h.CheckType(typ); err != nil {
		return err
	}
	Describe(h, k, r)
	e.Of(h)
	return fn(e)
}

// Describe tells of a key in r.
func Describe(h *memtable.Head, k turn.Key, r *turn.Result) {
	r.Session = h.Describe(k)
	r.Revision, r.Count = h.Revision, h.Count()
	r.First, r.Last = h.First, h.Last
}
