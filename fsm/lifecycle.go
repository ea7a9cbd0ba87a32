package fsm

import (
	"maps"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (s *sessions) delete(o *turn.Delete, r *turn.Result) error {
	for _, k := range o.Keys {
		key := layout.JoinKey(k)
		h, err := s.Find(key)
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
		s.Remove(key, h)
	}
	if len(o.Keys) > 0 {
		r.Revision = s.Revision(layout.JoinKey(o.Keys[0]))
	}
	return nil
}

func (s *sessions) setMeta(o *turn.SetMetadata, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.expected(key, o.Expect)
	if err != nil {
		return err
	}
	merged, size, err := s.mergedMeta(h, o.Set, o.Unset)
	if err != nil {
		return err
	}
	if h == nil {
		if h, err = s.create(key); err != nil {
			return err
		}
	}
	h = s.Own(key, h)
	s.replaceMeta(key, h, merged, size)
	s.changed(key, h)
	r.Revision = h.Revision
	return nil
}

// mergedMeta returns what changes make of a session's metadata, and its bytes, and takes the
// cost off the allowance; h is nil if there is no session.
func (s *sessions) mergedMeta(h *memtable.Head, set map[string]string, unset []string) (map[string]string, int, error) {
	merged := make(map[string]string)
	if h != nil {
		maps.Copy(merged, h.Meta)
	}
	maps.Copy(merged, set)
	for _, k := range unset {
		delete(merged, k)
	}
	if len(merged) == 0 {
		merged = nil // as it will be read from the store
	}
	size := 0
	for k, v := range merged {
		size += len(k) + len(v)
	}
	if err := checkMetaSize(size); err != nil {
		return nil, 0, err
	}
	if err := s.checkLabelCount(maps.Keys(merged)); err != nil {
		return nil, 0, err
	}
	return merged, size, s.allowance.spend(uint64(size))
}

// replaceMeta gives an owned head, which is to be told as changed next, metadata of so many bytes.
func (s *sessions) replaceMeta(key string, h *memtable.Head, meta map[string]string, size int) {
	if h.Labelled {
		s.unlabel(key, &h.Head)
		h.Labelled = false
	}
	h.SetMeta(meta)
	s.tables.Active.Count(size)
}

// checkMetaSize refuses metadata of more bytes than a session may have: the same on every node,
// whatever its configuration.
func checkMetaSize(size int) error {
	if limit := turn.DefaultLimits().MetaBytes; size > limit {
		return turn.Errorf(turn.TooLarge, "the session's metadata would have %d bytes, the limit is %d", size, limit)
	}
	return nil
}

// erase deletes a bounded number of the sessions that begin with a prefix.
func (s *sessions) erase(o *turn.Erase, r *turn.Result) error {
	tx, err := s.storeTx()
	if err != nil {
		return err
	}
	type found struct {
		key string
		h   *memtable.Head
	}
	var all []found
	if err := s.eachSession(tx, o.Namespace, o.Prefix, o.Cursor, func(key string, h *memtable.Head) bool {
		if h != nil {
			all = append(all, found{key, h})
		}
		return len(all) < o.Limit
	}); err != nil {
		return err
	}
	for _, f := range all {
		s.Remove(f.key, f.h)
	}
	if len(all) == o.Limit {
		r.Cursor = layout.SplitKey(all[len(all)-1].key).Name
	}
	r.Removed, r.Revision = uint64(len(all)), s.Revision(layout.JoinKey(turn.Key{Namespace: o.Namespace}))
	return nil
}
