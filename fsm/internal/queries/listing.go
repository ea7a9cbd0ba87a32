package queries

import (
	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

const (
	// MaxLooked bounds how many keys are looked at for a page of a listing: of the type
	// that is asked for there may be few.
	MaxLooked = 20_000
	// PartLooked is how many keys are passed while Apply waits.
	PartLooked = 200
)

// listing is a page of sessions, which is gathered part by part.
type listing struct {
	q      *turn.Sessions
	left   int // what the page may yet count for
	r      *turn.Result
	after  string // name of the last key that was passed
	passed int    // keys, deleted ones included
	looked int    // keys that exist
	last   string // name of the last of these
}

// listing answers with a page of sessions.
func (a answerer) listing(q *turn.Sessions, r *turn.Result) error {
	if err := a.Search(); err != nil {
		return err
	}
	l := listing{q: q, r: r, left: a.AnswerBytes(), after: q.Cursor}
	defer func() { a.PassedKeys(uint64(l.looked)) }()
	return a.EachPart(r, l.part)
}

// part looks at some more keys, and tells whether the page is whole.
func (l *listing) part(ks *keyspace.Keys, tx *store.Reading) (done bool, err error) {
	limit := l.passed + PartLooked
	var s *turn.Session
	done = true
	err = ks.EachSession(tx, l.q.Namespace, l.q.Prefix, l.after, func(key string, h *memtable.Head) bool {
		k := layout.SplitKey(key)
		wanted := h != nil && listed(l.q, h)
		if wanted {
			s = h.Describe(k)
		}
		switch n := len(l.r.Sessions); {
		case wanted && (n == l.q.Limit || n > 0 && sessionSize(s) > l.left):
			l.r.Cursor = l.r.Sessions[n-1].Key.Name
			return false
		case l.looked == MaxLooked:
			l.r.Cursor = l.last
			return false
		case l.passed == limit:
			done = false
			return false
		}
		l.passed, l.after = l.passed+1, k.Name
		if h != nil {
			l.looked, l.last = l.looked+1, k.Name
		}
		if wanted {
			l.r.Sessions = append(l.r.Sessions, *s)
			l.left -= sessionSize(s)
		}
		return true
	})
	return done, err
}

func listed(q *turn.Sessions, h *memtable.Head) bool {
	if q.List && !h.Held() {
		return false
	}
	if q.Type != turn.TypeNone {
		return h.Type == q.Type
	}
	return q.List || h.Type == turn.TypeList
}

// sessionSize is what a session counts for in an answer: see turn.Limits.
func sessionSize(s *turn.Session) int {
	n := turn.SessionBytes + len(s.Key.Namespace) + len(s.Key.Name)
	for k, v := range s.Metadata {
		n += turn.FieldBytes + len(k) + len(v)
	}
	return n
}
