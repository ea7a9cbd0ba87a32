package fsm

import (
	"strings"

	"github.com/tidwall/btree"
	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/turn"
)

// heads walks the sessions of all generations and the store in key order, each
// once, as of one moment. It is valid while mu and the transaction are held.
type heads struct {
	tables []*table // newest first
	iters  []btree.SetIter[string]
	valid  []bool
	cursor *bbolt.Cursor
	k, v   []byte // of the store
}

// headsFrom starts a walk at the first key ≥ from.
func (m *Machine) headsFrom(tx *reading, from string) *heads {
	w := &heads{tables: m.tables(), cursor: tx.Bucket(bucketHeads).Cursor()}
	for _, t := range w.tables {
		it := t.order.walk().Iter()
		w.valid = append(w.valid, it.Seek(from))
		w.iters = append(w.iters, it)
	}
	w.k, w.v = w.cursor.Seek([]byte(from))
	return w
}

// next returns the next key; h is nil if it was deleted. ok is false at the end.
func (w *heads) next() (key string, h *head, ok bool, err error) {
	if key, ok = w.lowest(); !ok {
		return "", nil, false, nil
	}
	known := false
	for i, t := range w.tables {
		if !w.valid[i] || w.iters[i].Key() != key {
			continue
		}
		if !known {
			h, known = t.heads[key], true
		}
		w.valid[i] = w.iters[i].Next()
	}
	if w.k != nil && string(w.k) == key {
		if !known {
			if h, err = openHead(w.k, w.v); err != nil {
				return "", nil, false, err
			}
		}
		w.k, w.v = w.cursor.Next()
	}
	return key, h, true, nil
}

func (w *heads) lowest() (key string, ok bool) {
	if w.k != nil {
		key, ok = string(w.k), true
	}
	for i := range w.tables {
		if w.valid[i] {
			if k := w.iters[i].Key(); !ok || k < key {
				key, ok = k, true
			}
		}
	}
	return key, ok
}

// eachSession calls fn with the sessions of a namespace whose names begin with
// prefix and come after the name after (all, if it is empty), in order, until
// fn returns false. Of one that was deleted or has expired, h is nil; of those in a gap
// between keys it shows one. Walks of Apply look for gaps.
func (m *Machine) eachSession(tx *reading, ns, prefix, after string, fn func(key string, h *head) bool) error {
	from := joinKey(turn.Key{Namespace: ns, Name: prefix})
	end := from
	if after != "" {
		from = max(from, joinKey(turn.Key{Namespace: ns, Name: after})+"\x00")
	}
	w := m.headsFrom(tx, from)
	run := deadRun{gaps: &m.keyGaps, learns: tx == m.tx}
	defer run.end()
	for {
		key, h, ok, err := w.next()
		if err != nil || !ok || !strings.HasPrefix(key, end) {
			return err
		}
		if h != nil && h.expired(m.meta.clock) {
			h = nil
		}
		if h != nil {
			run.end()
		} else if to, jumps := run.add(key); jumps {
			w = m.headsFrom(tx, to)
		}
		if !fn(key, h) {
			return nil
		}
	}
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
		r.Cursor = splitKey(all[len(all)-1].key).Name
	}
	r.Removed, r.Revision = uint64(len(all)), m.revision(joinKey(turn.Key{Namespace: o.Namespace}))
	return nil
}
