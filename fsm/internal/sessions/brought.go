package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/messageids"
	"github.com/turnlog/turnlog/turn"
)

// brought is what the messages of a replace tell of it.
type brought struct {
	call layout.Call
	last int       // which message tells of the call
	used []knownID // of their ids
}

// newBrought returns what messages tell, one of which has an id at least.
func newBrought(ms []turn.NewMessage) *brought {
	last := lastNamed(ms)
	return &brought{last: last, call: layout.Call{Digest: layout.CallDigest(ms), Before: uint64(last),
		After: uint64(len(ms) - 1 - last)}}
}

// notes returns those of a message that comes to an incarnation, nil for none.
func (b *brought) notes(i int, inc uint64) *layout.Notes {
	var n layout.Notes
	switch k := &b.used[i]; k.inc {
	case 0:
	case inc:
		n.First = k.rec.First()
	default:
		n.Deleted = true
	}
	if i == b.last {
		call := b.call // in memory of its own
		n.Call = &call
	}
	if n == (layout.Notes{}) {
		return nil
	}
	return &n
}

func named(ms []turn.NewMessage) bool { return lastNamed(ms) >= 0 }

// lastNamed returns the last message that has an id, -1 if none has.
func lastNamed(ms []turn.NewMessage) int {
	i := len(ms) - 1
	for i >= 0 && ms[i].ID == "" {
		i--
	}
	return i
}

// knownID is a message of a replace, with what is needed of the messages that had its id before. Their payloads are not
// kept: each may be large.
type knownID struct {
	*turn.NewMessage
	inc     uint64        // 0: it was not in use
	rec     layout.Record // the message that had it last, without its payload
	present bool          // that one's payload, as an edit left it, is the same
	carries bool          // that one, or the first that had the id, came with the same payload
	at      layout.Place  // of the first one
	untold  bool          // the first one is remembered, came with the same payload, and before turn.Level5
	then    uint64        // the first one's revision
}

// inUse looks for messages by their ids. Each one that is known takes of the allowance.
func (s *Operations) inUse(l *messageids.Lookup, ms []turn.NewMessage) ([]knownID, error) {
	known := make([]knownID, len(ms))
	for i := range known {
		k := &known[i]
		if k.NewMessage = &ms[i]; k.ID == "" {
			continue
		}
		rec, inc, err := l.Find(k.ID)
		if inc == 0 || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := s.Allowance.Spend(cost.Look); err != nil {
			return nil, err
		}
		first, at, remembered, err := l.First(&rec, inc)
		if err != nil {
			return nil, err
		}
		k.inc, k.at = inc, at
		k.present = !rec.Dead && string(rec.Data) == string(k.Data)
		k.carries = rec.Carries(k.Data)
		if remembered && first.Carries(k.Data) {
			k.carries, k.untold, k.then = true, !first.Told, first.Revision
		}
		k.rec, k.rec.Data = rec, nil
	}
	return known, nil
}
