package eino

import "sync"

// revisions are those of keys as they were last seen; they remember nothing unless they are conditional.
type revisions struct {
	mu sync.Mutex
	by map[string]uint64 // id → revision; nil unless conditional
}

func newRevisions(conditional bool) revisions {
	if !conditional {
		return revisions{}
	}
	return revisions{by: make(map[string]uint64)}
}

// of returns the revision of an id; !ok: it was not seen, and the revision is that of what does not exist.
func (r *revisions) of(id string) (revision uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	revision, ok = r.by[id]
	return revision, ok
}

func (r *revisions) saw(id string, revision uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by != nil {
		r.by[id] = revision
	}
}
