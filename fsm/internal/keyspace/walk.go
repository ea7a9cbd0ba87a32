package keyspace

import (
	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// EachSession calls fn with the sessions of a namespace whose names begin with
// prefix and come after the name after (all, if it is empty), in order, until
// fn returns false. Of one that was deleted or has expired, h is nil; of those in a gap
// between keys it shows one. Walks of Apply look for gaps.
func (ks *Keys) EachSession(
	tx *store.Reading, ns, prefix, after string, fn func(key string, h *memtable.Head) bool,
) error {
	from := layout.JoinKey(turn.Key{Namespace: ns, Name: prefix})
	w := ks.Tables.KeysWith(tx, from)
	if after != "" {
		from = layout.AfterKey(layout.JoinKey(turn.Key{Namespace: ns, Name: after}))
	}
	w.Seek(from)
	known, run := &ks.Gaps, gaps.Run{}
	if tx == ks.tx {
		run.Learned = &known
	}
	defer run.End()
	for w.Next() {
		key := w.Key
		h, err := w.Head()
		if err != nil {
			return err
		}
		if h != nil && h.Expired(ks.Meta.Clock) {
			h = nil
		}
		if h != nil {
			run.End()
		} else if x, ok := known.At(key); ok {
			run.Add(gaps.Gap{From: key, To: x.To})
			w.Seek(x.To)
		} else {
			run.Add(gaps.Gap{From: key, To: layout.AfterKey(key)})
		}
		if !fn(key, h) {
			return nil
		}
	}
	return w.Err
}
