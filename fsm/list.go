package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// keyWalk walks through the keys of the memtables and the store in order, as of one moment. It
// is valid while mu and the transaction are held.
type keyWalk struct {
	mergeIter[struct{}]
	tables []*memtable // newest first
}

// keysWith returns a walk through the keys that begin with prefix.
func (m *Machine) keysWith(tx *store.Reading, prefix string) *keyWalk {
	w := &keyWalk{tables: m.memtables()}
	w.low, w.high = prefix, layout.PrefixEnd(prefix)
	w.readStore(tx, layout.BucketHeads)
	for _, t := range w.tables {
		w.addMemory(t.order.walk())
	}
	return w
}

// head returns the head of the key that the walk is at, nil if it was deleted.
func (w *keyWalk) head() (*head, error) {
	if w.source != inStore {
		return w.tables[w.source].heads[w.key], nil
	}
	return openHead(w.stored())
}

// eachSession calls fn with the sessions of a namespace whose names begin with
// prefix and come after the name after (all, if it is empty), in order, until
// fn returns false. Of one that was deleted or has expired, h is nil; of those in a gap
// between keys it shows one. Walks of Apply look for gaps.
func (m *Machine) eachSession(tx *store.Reading, ns, prefix, after string, fn func(key string, h *head) bool) error {
	from := layout.JoinKey(turn.Key{Namespace: ns, Name: prefix})
	w := m.keysWith(tx, from)
	if after != "" {
		from = layout.AfterKey(layout.JoinKey(turn.Key{Namespace: ns, Name: after}))
	}
	w.seek(from)
	known, run := &m.keyGaps, gaps.Run{}
	if tx == m.tx {
		run.Learned = &known
	}
	defer run.End()
	for w.next() {
		key := w.key
		h, err := w.head()
		if err != nil {
			return err
		}
		if h != nil && h.Expired(m.meta.Clock) {
			h = nil
		}
		if h != nil {
			run.End()
		} else if x, ok := known.At(key); ok {
			run.Add(gaps.Gap{From: key, To: x.To})
			w.seek(x.To)
		} else {
			run.Add(gaps.Gap{From: key, To: layout.AfterKey(key)})
		}
		if !fn(key, h) {
			return nil
		}
	}
	return w.err
}

// erase deletes a bounded number of the sessions that begin with a prefix.
func (m *Machine) erase(o *turn.Erase, r *turn.Result) error {
	tx, err := m.storeTx()
	if err != nil {
		return err
	}
	type found struct {
		key string
		h   *head
	}
	var all []found
	if err := m.eachSession(tx, o.Namespace, o.Prefix, o.Cursor, func(key string, h *head) bool {
		if h != nil {
			all = append(all, found{key, h})
		}
		return len(all) < o.Limit
	}); err != nil {
		return err
	}
	for _, f := range all {
		m.remove(f.key, f.h)
	}
	if len(all) == o.Limit {
		r.Cursor = layout.SplitKey(all[len(all)-1].key).Name
	}
	r.Removed, r.Revision = uint64(len(all)), m.revision(layout.JoinKey(turn.Key{Namespace: o.Namespace}))
	return nil
}
