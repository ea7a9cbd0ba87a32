package queries

import (
	"slices"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// labelled is a page of the sessions that carry labels, all of one moment: what the index and the
// memtables have of them is gathered while Apply waits, and what the store has is read after that.
type labelled struct {
	keys  *keyspace.Keys
	q     *turn.Sessions
	r     *turn.Result
	left  int // what the page may yet count for
	found []indexed
	more  bool // there are sessions behind those found
}

// indexed is a session that the index has.
type indexed struct {
	revision uint64
	key      turn.Key
	known    *turn.Session // nil: the store alone has it
}

// labelled answers with a page of sessions by labels.
func (a answerer) labelled(q *turn.Sessions, r *turn.Result) error {
	if err := a.Search(); err != nil {
		return err
	}
	l := labelled{q: q, r: r, left: a.AnswerBytes()}
	defer func() { a.PassedKeys(uint64(len(l.found))) }()
	return a.Moment(r, func(ks *keyspace.Keys, tx *store.Reading, free func()) error {
		l.keys = ks
		return l.page(tx, free)
	})
}

// page gathers the page. It calls free when it needs the memtables no more.
func (l *labelled) page(tx *store.Reading, free func()) error {
	if err := l.gather(tx); err != nil {
		return err
	}
	free()
	return l.answer(tx)
}

// gather finds sessions in the index, in that of the label which the fewest carry.
func (l *labelled) gather(tx *store.Reading) error {
	var least *memtable.Head
	for _, label := range l.q.Labels {
		h, err := l.head(tx, layout.LabelKey(l.q.Namespace, label))
		if h == nil || err != nil {
			return err
		}
		if least == nil || h.Count() < least.Count() {
			least = h
		}
	}
	before, err := l.q.Before()
	if err != nil || before == 0 {
		return err
	}
	e, whole := l.keys.Tables.Elements(least.Inc)
	e.Of(least)
	if !whole {
		e.Tx = tx
	}
	looked, n := l.looked(), 0
	from := layout.LabelField(before - 1)
	walked := e.Ascend(from, func(field string, name []byte) bool {
		if n == looked {
			l.more = true
			return false
		}
		n++
		if len(field) != layout.LabelFieldSize {
			err = layout.Misindexed(string(name))
			return false
		}
		err = l.take(layout.LabelRevision(field), string(name))
		return err == nil
	})
	if err == nil {
		err = walked
	}
	return err
}

// looked is how many sessions are looked at.
func (l *labelled) looked() int {
	if len(l.q.Labels) > 1 || l.q.Prefix != "" || len(l.q.Prefixes) > 0 {
		return turn.LabelPage
	}
	return min(l.q.Limit, turn.LabelPage)
}

// take adds a session to those found.
func (l *labelled) take(revision uint64, name string) error {
	x := indexed{revision: revision, key: turn.Key{Namespace: l.q.Namespace, Name: name}}
	if h, known := l.keys.Tables.Head(layout.JoinKey(x.key)); known {
		if h == nil || h.Revision != revision {
			return layout.Misindexed(x.key.Name)
		}
		x.known = h.Describe(x.key)
	}
	l.found = append(l.found, x)
	return nil
}

// head returns the head of a key, nil if there is none.
func (l *labelled) head(tx *store.Reading, key string) (*memtable.Head, error) {
	if h, known := l.keys.Tables.Head(key); known {
		return h, nil
	}
	return memtable.StoredHead(tx, key)
}

// answer puts together the page of those found that are wanted. It looks on behind a full page: there is no
// next one unless it has a session, as far as this one looked.
func (l *labelled) answer(tx *store.Reading) error {
	for i, x := range l.found {
		s, err := l.describe(tx, x)
		if err != nil {
			return err
		}
		if !l.wanted(s) {
			continue
		}
		l.left -= sessionSize(s)
		if n := len(l.r.Sessions); n == l.q.Limit || n > 0 && l.left < 0 {
			l.endBehind(l.found[i-1])
			return nil
		}
		l.r.Sessions = append(l.r.Sessions, *s)
	}
	if l.more {
		l.endBehind(l.found[len(l.found)-1])
	}
	return nil
}

// endBehind has the next page begin behind x.
func (l *labelled) endBehind(x indexed) { l.r.Cursor = strconv.FormatUint(x.revision, 10) }

// describe returns what there is to know of a session that was found.
func (l *labelled) describe(tx *store.Reading, x indexed) (*turn.Session, error) {
	if x.known != nil {
		return x.known, nil
	}
	h, err := memtable.StoredHead(tx, layout.JoinKey(x.key))
	if err != nil {
		return nil, err
	}
	if h == nil || h.Revision != x.revision {
		return nil, layout.Misindexed(x.key.Name)
	}
	return h.Describe(x.key), nil
}

// wanted reports whether the list has a session that carries one of the labels.
func (l *labelled) wanted(s *turn.Session) bool {
	begins := func(p string) bool { return strings.HasPrefix(s.Key.Name, p) }
	switch {
	case s.ExpiresAt != 0 && s.ExpiresAt <= l.r.Time: // it is not deleted yet
		return false
	case !begins(l.q.Prefix), len(l.q.Prefixes) > 0 && !slices.ContainsFunc(l.q.Prefixes, begins):
		return false
	}
	has := turn.LabelsOf(s.Metadata)
	return !slices.ContainsFunc(l.q.Labels, func(x turn.Label) bool { return !slices.Contains(has, x) })
}
