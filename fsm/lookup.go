package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// lookup finds messages by the ids that they carried, in a session or in what was
// deleted under the same key not long ago.
type lookup struct {
	ids *ids
	key string
	h   *memtable.Head // nil: there is no session
	ms  []turn.NewMessage
	// deleted is found for all of ms when an id is not in the session.
	deleted deletedOrigins
	looked  bool
}

// find returns the message that carried id. inc is 0 if there is none.
func (l *lookup) find(id string) (rec layout.Record, inc uint64, err error) {
	x, h := l.ids, l.h
	if h != nil {
		if rec, ok, err := x.lookupIn(x.windows.Of(h.Inc, h.Window), rememberedOf(h), id); ok || err != nil {
			return rec, h.Inc, err
		}
		if h.TombstonesUntil <= x.meta.Clock {
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
