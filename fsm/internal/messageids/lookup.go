package messageids

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// Lookup finds messages by the ids that they carried, in a session or in what was
// deleted under the same key not long ago.
type Lookup struct {
	ids *IDs
	key string
	h   *memtable.Head // nil: there is no session
	ms  []turn.NewMessage
	// deleted is found for all of ms when an id is not in the session.
	deleted deletedOrigins
	looked  bool
}

// Lookup begins to find messages that are about to be appended under a key; h is nil if there is no session.
func (x *IDs) Lookup(key string, h *memtable.Head, ms []turn.NewMessage) Lookup {
	return Lookup{ids: x, key: key, h: h, ms: ms}
}

// Find returns the message that carried id. inc is 0 if there is none.
func (l *Lookup) Find(id string) (rec layout.Record, inc uint64, err error) {
	x, h := l.ids, l.h
	if h != nil {
		if rec, ok, err := x.Find(h, id); ok || err != nil {
			return rec, h.Inc, err
		}
		if h.TombstonesUntil <= x.keys.Meta.Clock {
			return layout.Record{}, 0, nil
		}
	}
	if !l.looked {
		if l.deleted, err = x.deletedOrigins(l.key, l.ms); err != nil {
			return layout.Record{}, 0, err
		}
		l.looked = true
	}
	return x.lookupDeleted(l.deleted, id)
}
