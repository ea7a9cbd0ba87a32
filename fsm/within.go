package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// stamp says which state the answer is from. The caller holds mu.
func (ks *keyspace) stamp(r *turn.Result) { r.Index, r.Time = ks.meta.Index, ks.meta.Clock }

// describe tells of a key in r.
func describe(h *memtable.Head, k turn.Key, r *turn.Result) {
	r.Session = h.Describe(k)
	r.Revision, r.Count = h.Revision, h.Count()
	r.First, r.Last = h.First, h.Last
}

// within returns the head of a key, nil if there is none, for a query in the
// midst of Apply: one whose time has come is left for others to delete.
func (ks *keyspace) within(k turn.Key, r *turn.Result) (*memtable.Head, error) {
	ks.stamp(r)
	h, err := ks.stored(layout.JoinKey(k))
	if h == nil || err != nil || h.Expired(ks.meta.Clock) {
		return nil, err
	}
	return h, nil
}

func (ks *keyspace) sessionWithin(k turn.Key, r *turn.Result, fn func(*memtable.Head, *memtable.View) error) error {
	h, err := ks.within(k, r)
	if h == nil || err != nil {
		return err
	}
	describe(h, k, r)
	if fn == nil {
		return nil
	}
	if err := h.CheckType(turn.TypeList); err != nil {
		return err
	}
	if err := ks.allowance.search(); err != nil {
		return err
	}
	v, err := ks.view(h)
	if err != nil {
		return err
	}
	ks.allowance.bound(&v)
	err = fn(h, &v)
	if paid := ks.allowance.searched(&v); err == nil {
		err = paid
	}
	return err
}

func (ks *keyspace) valueWithin(k turn.Key, typ turn.Type, r *turn.Result, fn func(*memtable.Elements) error) error {
	h, err := ks.within(k, r)
	if err != nil || !h.Held() {
		return err
	}
	if err := h.CheckType(typ); err != nil {
		return err
	}
	if err := ks.allowance.search(); err != nil {
		return err
	}
	e, err := ks.Elements(h)
	if err != nil {
		return err
	}
	defer func() { ks.allowance.passedElements(e.Passed) }()
	describe(h, k, r)
	return fn(&e)
}
