package fsm

import (
	"maps"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

func (m *Machine) delete(o *turn.Delete, r *turn.Result) error {
	for _, k := range o.Keys {
		key := layout.JoinKey(k)
		h, err := m.keys.Find(key)
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
		m.keys.Remove(key, h)
	}
	if len(o.Keys) > 0 {
		r.Revision = m.keys.Revision(layout.JoinKey(o.Keys[0]))
	}
	return nil
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
	if err := m.keys.allowance.spend(uint64(size)); err != nil {
		return err
	}
	if h == nil {
		if h, err = m.create(key); err != nil {
			return err
		}
	}
	h = m.keys.Own(key, h)
	h.Meta = merged
	m.keys.tables.Active.Count(size)
	m.keys.changed(key, h)
	r.Revision = h.Revision
	return nil
}
