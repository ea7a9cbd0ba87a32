package transaction

import (
	"maps"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/sessions"
	"github.com/turnlog/turnlog/turn"
)

// plan holds the steps of a transaction against the state as the steps before would leave it,
// and changes nothing. Where it is not known what they leave, it refuses what might be refused.
type plan struct {
	*sessions.Operations
	conditions []turn.Condition    // which hold
	keys       map[string]*planned // by joined key
	cost       uint64              // of what the steps spend of the allowance
	popped     uint64              // bytes that steps take out, to be answered with
}

// planned is what steps make of a key.
type planned struct {
	head *memtable.Head // nil: there was none
	gone bool           // a step deletes it
	made bool           // a step behind that makes a session of it, or of a key that held nothing
	typ  turn.Type      // that steps have it hold; TypeNone: none of them cares
	meta map[string]int // sizes of what steps make of its metadata; nil: no step changes it
	// removed are the seqs of messages that steps remove one by one.
	removed map[uint64]bool
}

// of returns the plan for a key, which a step has hold a type, if that is not TypeNone.
func (p *plan) of(k turn.Key, typ turn.Type) (*planned, error) {
	key := layout.JoinKey(k)
	x := p.keys[key]
	if x == nil {
		h, err := p.Find(key)
		if err != nil {
			return nil, err
		}
		x = &planned{head: h}
		p.keys[key] = x
	}
	if typ == turn.TypeNone {
		return x, nil
	}
	if x.typ != turn.TypeNone && x.typ != typ {
		return nil, turn.Errorf(turn.WrongType, "a step before has the key hold a %s, not a %s", x.typ, typ)
	}
	// To values of other types, a session without messages is nothing.
	if h := x.head; x.typ == turn.TypeNone && !x.gone && (typ == turn.TypeList || h.Held()) {
		if err := h.CheckType(typ); err != nil {
			return nil, err
		}
	}
	x.typ = typ
	return x, nil
}

// expects reports whether the transaction is under a condition on the revision of what a key holds.
func (p *plan) expects(k turn.Key) bool {
	return slices.ContainsFunc(p.conditions, func(c turn.Condition) bool {
		return c.Is == turn.AtRevision && c.N > 0 && c.Key == k
	})
}

// delete notes that a key holds nothing from here on.
func (x *planned) delete() {
	x.gone, x.made, x.typ, x.meta = true, false, turn.TypeNone, map[string]int{}
}

// plainStep returns the error that a step would be refused with. When the step takes place, it is looked at again.
func (p *plan) plainStep(op turn.Op) error {
	switch o := op.(type) {
	case *turn.Append:
		return p.append(o)
	case *turn.SetMetadata:
		return p.setMeta(o)
	case *turn.Clear:
		_, err := p.of(o.Key, turn.TypeList)
		return err
	case *turn.Trim:
		_, err := p.of(o.Key, turn.TypeList)
		return err
	case *turn.Delete:
		for _, k := range o.Keys {
			x, err := p.of(k, turn.TypeNone)
			if err != nil {
				return err
			}
			x.delete()
		}
		return nil
	case *turn.Expire:
		return p.expire(o)
	case *turn.SetFields:
		_, err := p.of(o.Key, o.Type)
		return err
	case *turn.RemoveFields:
		_, err := p.of(o.Key, o.Type)
		return err
	}
	return turn.Errorf(turn.Invalid, "%T cannot be a step of a transaction that takes place as a whole", op)
}

// append refuses messages that were appended before, with and without others: the
// transaction is another than the one that brought them.
func (p *plan) append(o *turn.Append) error {
	x, err := p.of(o.Key, turn.TypeList)
	if err != nil {
		return err
	}
	x.made = true
	if err := p.newTo(x, o.Key, o.Messages); err != nil || len(o.Set)+len(o.Unset) == 0 {
		return err
	}
	return p.changeMeta(x, o.Set, o.Unset)
}

// session returns the head of the session that a key held before the first step, nil if there was none: a step may
// have deleted what it held.
func (x *planned) session() *memtable.Head {
	if x.head == nil || x.head.Type != turn.TypeList {
		return nil
	}
	return x.head
}

// newTo refuses messages for a session that were appended before.
func (p *plan) newTo(x *planned, k turn.Key, messages []turn.NewMessage) error {
	var then turn.Result
	h := x.session()
	known, err := p.Duplicate(layout.JoinKey(k), h, messages, &then)
	if known {
		err = turn.Errorf(turn.Conflict, "the messages were appended before, as messages %d to %d", then.First,
			then.Last)
		if h != nil {
			err.(*turn.Error).Revision = h.Revision
		}
	}
	return err
}

func (p *plan) setMeta(o *turn.SetMetadata) error {
	x, err := p.of(o.Key, turn.TypeList)
	if err != nil {
		return err
	}
	x.made = true
	return p.changeMeta(x, o.Set, o.Unset)
}

func (p *plan) changeMeta(x *planned, set map[string]string, unset []string) error {
	if x.meta == nil {
		x.meta = make(map[string]int)
		if x.head != nil {
			for k, v := range x.head.Meta {
				x.meta[k] = len(k) + len(v)
			}
		}
	}
	before := keyspace.LabelCount(maps.Keys(x.meta))
	for k, v := range set {
		x.meta[k] = len(k) + len(v)
	}
	for _, k := range unset {
		delete(x.meta, k)
	}
	size := 0
	for _, n := range x.meta {
		size += n
	}
	p.cost += uint64(size)
	if err := sessions.CheckMetaSize(size); err != nil {
		return err
	}
	return p.CheckLabelCount(before, keyspace.LabelCount(maps.Keys(x.meta)))
}

func (p *plan) expire(o *turn.Expire) error {
	if o.List { // whether the key is deleted depends on what it holds by then
		return turn.Errorf(turn.Invalid, "an expiry as of a list cannot be a step of a transaction that takes place "+
			"as a whole")
	}
	typ := turn.TypeNone
	if o.Slide {
		typ = turn.TypeList
	}
	x, err := p.of(o.Key, typ)
	if err != nil {
		return err
	}
	deadline := o.At
	if o.HasTTL {
		deadline = p.After(o.TTL)
	}
	if (o.HasTTL || o.HasAt) && deadline <= p.Meta.Clock {
		x.delete()
	}
	return nil
}
