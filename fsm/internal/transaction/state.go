package transaction

import (
	"math"

	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/queries"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// State is the state as a step of a transaction that is a query sees it, while an entry is applied. What it
// reads is taken off the entry's allowance.
type State struct{ *keyspace.Keys }

// head returns the head of a key, nil if there is none: one whose time has come is left for operations
// to delete.
func (ks State) head(k turn.Key, r *turn.Result) (*memtable.Head, error) {
	ks.Stamp(r)
	h, err := ks.Head(layout.JoinKey(k))
	if h == nil || err != nil || h.Expired(ks.Meta.Clock) {
		return nil, err
	}
	return h, nil
}

// Session lets fn, unless it is nil, read the messages of a session; without fn the key may be of any type.
func (ks State) Session(
	k turn.Key, r *turn.Result, _ func(*memtable.Head, *memtable.View) bool,
	fn func(*memtable.Head, *memtable.View) error,
) error {
	h, err := ks.head(k, r)
	if h == nil || err != nil {
		return err
	}
	queries.Describe(h, k, r)
	if fn == nil {
		return nil
	}
	if err := h.CheckType(turn.TypeList); err != nil {
		return err
	}
	if err := ks.Allowance.Search(); err != nil {
		return err
	}
	v, err := ks.View(h)
	if err != nil {
		return err
	}
	ks.Allowance.Bound(&v)
	err = fn(h, &v)
	if paid := ks.Allowance.Searched(&v); err == nil {
		err = paid
	}
	return err
}

// Value lets fn read the elements of a key of another type.
func (ks State) Value(
	k turn.Key, typ turn.Type, _ queries.LookupMode, r *turn.Result, fn func(*memtable.Elements) error,
) error {
	h, err := ks.head(k, r)
	if err != nil || !h.Held() {
		return err
	}
	if err := h.CheckType(typ); err != nil {
		return err
	}
	if err := ks.Allowance.Search(); err != nil {
		return err
	}
	e, err := ks.Elements(h)
	if err != nil {
		return err
	}
	defer func() { ks.Allowance.PassedElements(e.Passed) }()
	queries.Describe(h, k, r)
	return fn(&e)
}

// ReadBytes returns how many bytes of payload an answer may have. In a transaction that is the same on
// every node, whatever its configuration: what queries pass and answer with is taken off the
// allowance, and so decides what becomes of the operations behind them.
func (ks State) ReadBytes() int { return turn.DefaultLimits().ReadBytes }

// ReadMessages sets no bound: the allowance bounds how many messages a query passes, and the answer counts for more
// than their payload.
func (ks State) ReadMessages() int { return math.MaxInt }

// AnswerBytes sets no bound either: what nodes of earlier versions answered decides what the state is.
func (ks State) AnswerBytes() int { return math.MaxInt }

// EachPart lets fn read the keys, part by part, until it is done.
func (ks State) EachPart(r *turn.Result, fn func(*keyspace.Keys, *store.Reading) (done bool, err error)) error {
	ks.Stamp(r)
	tx, err := ks.Reading()
	for done := false; err == nil && !done; {
		done, err = fn(ks.Keys, tx)
	}
	return err
}

// Moment lets fn read the keys.
func (ks State) Moment(r *turn.Result, fn func(*keyspace.Keys, *store.Reading, func()) error) error {
	ks.Stamp(r)
	tx, err := ks.Reading()
	if err != nil {
		return err
	}
	return fn(ks.Keys, tx, func() {})
}

// Search returns an error if the entry has spent its allowance.
func (ks State) Search() error { return ks.Allowance.Search() }

// PassedKeys takes the cost of keys that were passed off the allowance.
func (ks State) PassedKeys(n uint64) { ks.Allowance.PassedKeys(n) }

// Spent takes a cost off the allowance, or what is left of it.
func (ks State) Spent(n uint64) { ks.Allowance.Take(n) }
