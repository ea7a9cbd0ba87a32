package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/turnlog/turnlog/contract"
)

func (s *Server) labelled(namespace, name, value string) (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.namespaces[namespace] {
		ss := s.sessionLocked(namespace, key, false)
		if ss == nil {
			continue
		}
		if v, has := ss.metadata[contract.LabelPrefix+name]; has && v == value {
			keys = append(keys, key)
		}
	}
	version := func(key string) uint64 { return s.namespaces[namespace][key].version }
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	return keys
}

// Labelled implements contract.Labeller.
func (h *Handle) Labelled(ctx context.Context, name, value string) (keys []string, err error) {
	err = h.call(ctx, func() { keys = h.server.labelled(h.namespace, name, value) })
	return keys, err
}
