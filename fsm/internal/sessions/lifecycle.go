package sessions

import (
	"maps"

	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (s *Operations) delete(o *turn.Delete, r *turn.Result) error {
	for _, k := range o.Keys {
		key := layout.JoinKey(k)
		h, err := s.Find(key)
		if err != nil {
			return err
		}
		if err := CheckExpect(o.Expect, h); err != nil {
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

func (s *Operations) setMeta(o *turn.SetMetadata, r *turn.Result) error {
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
	s.Changed(key, h)
	r.Revision = h.Revision
	return nil
}

// mergedMeta returns what changes make of a session's metadata, and its bytes, and takes the
// cost off the allowance; h is nil if there is no session.
func (s *Operations) mergedMeta(
	h *memtable.Head, set map[string]string, unset []string,
) (merged map[string]string, size int, err error) {
	merged = make(map[string]string)
	var before map[string]string
	if h != nil {
		before = h.Meta
	}
	maps.Copy(merged, before)
	maps.Copy(merged, set)
	for _, k := range unset {
		delete(merged, k)
	}
	if len(merged) == 0 {
		merged = nil // as it will be read from the store
	}
	for k, v := range merged {
		size += len(k) + len(v)
	}
	if err := CheckMetaSize(size); err != nil {
		return nil, 0, err
	}
	had, has := keyspace.LabelCount(maps.Keys(before)), keyspace.LabelCount(maps.Keys(merged))
	if err := s.CheckLabelCount(had, has); err != nil {
		return nil, 0, err
	}
	return merged, size, s.Allowance.Spend(uint64(size))
}

// replaceMeta gives an owned head, which is to be told as changed next, metadata of so many bytes.
func (s *Operations) replaceMeta(key string, h *memtable.Head, meta map[string]string, size int) {
	if h.Labelled {
		s.Unlabel(key, &h.Head)
		h.Labelled = false
	}
	h.SetMeta(meta)
	s.Tables.Active.Count(size)
}

// CheckMetaSize refuses metadata of more bytes than a session may have: the same on every node,
// whatever its configuration.
func CheckMetaSize(size int) error {
	if limit := turn.DefaultLimits().MetaBytes; size > limit {
		return turn.Errorf(turn.TooLarge, "the session's metadata would have %d bytes, the limit is %d", size, limit)
	}
	return nil
}

// erase deletes a bounded number of the sessions that begin with a prefix.
func (s *Operations) erase(o *turn.Erase, r *turn.Result) error {
	tx, err := s.Reading()
	if err != nil {
		return err
	}
	type found struct {
		key string
		h   *memtable.Head
	}
	var all []found
	if err := s.EachSession(tx, o.Namespace, o.Prefix, o.Cursor, func(key string, h *memtable.Head) bool {
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
