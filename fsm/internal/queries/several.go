package queries

import (
	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/turn"
)

// Queries about several keys gather what memory has of all of them while Apply waits, and read the store, as of the
// same moment, after that.

// combined answers with a combination of sets.
func (a answerer) combined(q *turn.CombineSets, r *turn.Result) error {
	if err := a.Search(); err != nil {
		return err
	}
	return a.Moment(r, func(ks *keyspace.Keys, tx *store.Reading, free func()) error {
		heads, sets := make([]*memtable.Head, len(q.Keys)), make([]*values.Set, len(q.Keys))
		for i, k := range q.Keys {
			heads[i], sets[i] = setInMemory(ks, tx, k, r.Time)
		}
		free()
		for i, k := range q.Keys {
			h := heads[i]
			if sets[i] != nil && h == nil { // memory holds nothing of the key
				var err error
				if h, err = memtable.StoredHead(tx, layout.JoinKey(k)); err != nil {
					return err
				}
				if h.Held() {
					sets[i] = &values.Set{Elements: *memtable.StoredElements(h, tx), Count: h.Count()}
				}
			}
			if !h.Held() || h.Expired(r.Time) {
				sets[i] = nil
			} else if err := h.CheckType(turn.TypeSet); err != nil {
				return err
			}
		}
		c := values.NewCombination(q, sets, min(a.ReadBytes(), a.AnswerBytes()))
		defer func() { a.Spent(c.Cost) }()
		return c.Answer(r)
	})
}

// setInMemory returns the head of a key and its elements, valid beyond the lock. Without a head there is no such key,
// if the set is nil too; else memory holds nothing of it.
func setInMemory(ks *keyspace.Keys, tx *store.Reading, k turn.Key, now int64) (*memtable.Head, *values.Set) {
	h, known := ks.Tables.Head(layout.JoinKey(k))
	switch {
	case !known:
		return nil, new(values.Set)
	case !h.Held() || h.Expired(now) || h.Type != turn.TypeSet:
		if h == nil {
			return nil, nil
		}
		mine := *h
		return &mine, nil
	}
	e, whole := ks.Tables.Elements(h.Inc)
	if !whole {
		e.Tx = tx
	}
	mine := *h // the one in the memtable changes later
	ks.Tables.Hold(&e, &mine)
	e.Of(&mine)
	return &mine, &values.Set{Elements: e, Count: mine.Count()}
}

// lookup answers which of several keys exist, or with their strings.
func (a answerer) lookup(q *turn.Lookup, r *turn.Result) error {
	if err := a.Search(); err != nil {
		return err
	}
	defer a.PassedKeys(uint64(len(q.Keys)))
	return a.Moment(r, func(ks *keyspace.Keys, tx *store.Reading, free func()) error {
		left := min(a.ReadBytes(), a.AnswerBytes()-turn.ItemBytes*len(q.Keys))
		l := lookup{q: q, tx: tx, left: left, r: r, stored: make(map[int]*memtable.Head)}
		r.Elements = make([]turn.Element, len(q.Keys))
		for i := range q.Keys {
			if err := l.inMemory(ks, i); err != nil {
				return err
			}
		}
		free()
		for i := range q.Keys {
			if h, ok := l.stored[i]; ok {
				if err := l.inStore(i, h); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// lookup is a lookup of several keys.
type lookup struct {
	q    *turn.Lookup
	tx   *store.Reading
	left int // bytes that may yet be read for strings
	r    *turn.Result
	// stored are the keys, by their places, of which the store is to be asked, and their heads, if memory has them.
	stored map[int]*memtable.Head
}

// missing notes whether a key is missing, given its head, and reports whether its string is wanted.
func (l *lookup) missing(i int, h *memtable.Head) (wanted bool) {
	there := h.Held() && !h.Expired(l.r.Time) && (!l.q.Strings || h.Type == turn.TypeString)
	l.r.Elements[i].Missing = !there
	return there && l.q.Strings
}

func (l *lookup) inMemory(ks *keyspace.Keys, i int) error {
	h, known := ks.Tables.Head(layout.JoinKey(l.q.Keys[i]))
	if !known {
		l.stored[i] = nil
		return nil
	}
	if !l.missing(i, h) {
		return nil
	}
	e, whole := ks.Tables.Elements(h.Inc)
	e.Of(h)
	e.Partial = !whole
	value, _, err := e.Get("")
	if err == nil && e.Missed {
		mine := *h
		l.stored[i] = &mine
		return nil
	}
	if err != nil {
		return err
	}
	return l.take(i, value)
}

func (l *lookup) inStore(i int, h *memtable.Head) (err error) {
	if h == nil {
		if h, err = memtable.StoredHead(l.tx, layout.JoinKey(l.q.Keys[i])); err != nil {
			return err
		}
	}
	if !l.missing(i, h) {
		return nil
	}
	value, _, err := memtable.StoredElements(h, l.tx).Get("")
	if err != nil {
		return err
	}
	return l.take(i, value)
}

// take puts a string into the answer.
func (l *lookup) take(i int, value []byte) error {
	if l.left -= len(value); l.left < 0 {
		return turn.Errorf(turn.TooLarge, "the strings have more than the bytes that one answer may have; ask for "+
			"fewer keys")
	}
	l.r.Elements[i].Value = value
	return nil
}
