package fsm

import (
	"maps"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (m *Machine) delete(o *turn.Delete, r *turn.Result) error {
	for _, k := range o.Keys {
		key := layout.JoinKey(k)
		h, err := m.find(key)
		if err != nil {
			return err
		}
		if err := checkExpect(o.Expect, h); err != nil {
			return err
		}
		if h == nil {
			continue
		}
		if !o.List || h.Held() {
			r.Removed++
		}
		m.remove(key, h)
	}
	if len(o.Keys) > 0 {
		r.Revision = m.revision(layout.JoinKey(o.Keys[0]))
	}
	return nil
}

// remove deletes a key. A session's ids are remembered for a while if it had any.
func (m *Machine) remove(key string, h *memtable.Head) {
	m.count(key, h.Held(), false)
	m.tables.Active.Remove(key, h)
	if of := rememberedOf(h); of.any() {
		g := layout.Tombstone{Inc: h.Inc, Last: h.Last, Moves: h.Moves, Deadline: m.after(turn.TombstoneTime)}
		m.tables.Active.AddTombstone(layout.TombstoneKey(key, g.Inc), g)
		m.meta.TombstonesUntil = max(m.meta.TombstonesUntil, g.Deadline)
	}
	m.advance(key)
	m.watches.notify(key)
}

func (m *Machine) setMeta(o *turn.SetMetadata, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := m.expected(key, o.Expect)
	if err != nil {
		return err
	}
	merged := make(map[string]string)
	if h != nil {
		maps.Copy(merged, h.Meta)
	}
	maps.Copy(merged, o.Set)
	for _, k := range o.Unset {
		delete(merged, k)
	}
	if len(merged) == 0 {
		merged = nil // as it will be read from the store
	}
	size := 0
	for k, v := range merged {
		size += len(k) + len(v)
	}
	// The same on every node, whatever its configuration: not Config's limit.
	if limit := turn.DefaultLimits().MetaBytes; size > limit {
		return turn.Errorf(turn.TooLarge, "the session's metadata would have %d bytes, the limit is %d", size, limit)
	}
	if err := m.spend(uint64(size)); err != nil {
		return err
	}
	if h == nil {
		if h, err = m.create(key); err != nil {
			return err
		}
	}
	h = m.own(key, h)
	h.Meta = merged
	m.tables.Active.Count(size)
	m.changed(key, h)
	r.Revision = h.Revision
	return nil
}
