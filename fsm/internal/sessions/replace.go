package sessions

import (
	"cmp"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/messageids"
	"github.com/turnlog/turnlog/turn"
)

func (s *Operations) replace(o *turn.Replace, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.session(key)
	if err != nil {
		return s.unlessRepeated(err, func() (bool, error) {
			_, again, err := s.replacedBefore(key, nil, o, false, r)
			return again, err
		})
	}
	holds := h != nil && o.Expect != nil && *o.Expect == h.Revision
	b, again, err := s.replacedBefore(key, h, o, holds, r)
	if again || err != nil {
		return err
	}
	if err := CheckExpect(o.Expect, h); err != nil {
		return err
	}
	return s.replaceFrom(key, h, o, b, r)
}

// replaceFrom is replace for messages whose ids were looked at, and tell b; h is nil if there is no session.
func (s *Operations) replaceFrom(
	key string, h *memtable.Head, o *turn.Replace, b *brought, r *turn.Result,
) error {
	if h == nil {
		return turn.Errorf(turn.NotFound, "the session does not exist")
	}
	v, err := s.View(h)
	if err != nil {
		return err
	}
	gone, err := v.From(o.From, h.Count())
	if err != nil {
		return err
	}
	if gone.Lowest == 0 && len(o.Messages) == 0 {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	h = s.Own(key, h)
	before := h.Count()
	s.drop(h, memtable.AnySide, false, gone)
	if h.Count() == 0 {
		h.First = 0
	}
	if err := s.endTurns(h); err != nil {
		return err
	}
	s.CountKey(key, before > 0, h.Held())
	r.Removed = gone.Live[turn.Tail] + gone.Live[turn.Head]
	if len(o.Messages) > 0 {
		s.push(key, h, o.Messages, turn.Tail, b, r)
		if err := s.shorten(h); err != nil {
			return err
		}
	}
	if h.Slide > 0 {
		s.SetDeadline(key, h, s.After(h.Slide), h.Slide)
	}
	s.Changed(key, h)
	r.Count, r.Revision = h.Count(), h.Revision
	return nil
}

// replacedBefore reports whether a replace is a repeat of one that took place, and then fills in r as that time.
// Otherwise it returns what the messages tell of it, nil before turn.Level5, or an error if a message has an id that it
// may not have. h is nil if there is no session. holds tells that the replace is under a condition that holds: had it
// taken place, the revision would be higher.
func (s *Operations) replacedBefore(
	key string, h *memtable.Head, o *turn.Replace, holds bool, r *turn.Result,
) (b *brought, again bool, err error) {
	if s.Meta.Level < turn.Level5 || !named(o.Messages) {
		again, err = s.Duplicate(key, h, o.Messages, r)
		return nil, again, err
	}
	after := uint64(0) // a call under a condition that held took place after that revision
	if o.Expect != nil {
		after = *o.Expect
	}
	messages := s.IDs.Lookup(key, h, o.Messages)
	known, err := inUse(&messages, o.Messages)
	if err != nil {
		return nil, false, err
	}
	b = newBrought(o.Messages, known)
	if !holds {
		then, again, err := tookPlace(&messages, h, b, known, after)
		if again {
			answerAsThen(&then, h, r)
		}
		if again || err != nil {
			return nil, again, err
		}
	}
	return b, false, s.mayBring(h, o, known)
}

// brought is what the messages of a replace tell of it.
type brought struct {
	call layout.Call
	last int       // which message tells of the call
	used []knownID // of their ids
}

// newBrought returns what messages tell, one of which has an id at least.
func newBrought(ms []turn.NewMessage, used []knownID) *brought {
	last := lastNamed(ms)
	return &brought{last: last, used: used, call: layout.Call{Digest: layout.CallDigest(ms), Before: uint64(last),
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

// knownID is a message whose id was in use before.
type knownID struct {
	*turn.NewMessage
	inc   uint64        // 0: it was not
	rec   layout.Record // the message that had it last
	at    layout.Place  // of the one that had it first
	first layout.Record // that one, if it is remembered
	whole bool          // it is
}

// inUse looks for messages by their ids.
func inUse(l *messageids.Lookup, ms []turn.NewMessage) ([]knownID, error) {
	known := make([]knownID, len(ms))
	for i := range known {
		k := &known[i]
		if k.NewMessage = &ms[i]; k.ID == "" {
			continue
		}
		var err error
		if k.rec, k.inc, err = l.Find(k.ID); err == nil && k.inc != 0 {
			k.first, k.at, k.whole, err = l.First(&k.rec, k.inc)
		}
		if err != nil {
			return nil, err
		}
	}
	return known, nil
}

// came reports whether the message came as such to a place, before turn.Level5.
func (k *knownID) came(at layout.Place) bool {
	return k.inc != 0 && k.at == at && k.whole && !k.first.Told && k.first.Carries(k.Data)
}

// tookPlace finds the first call after a revision that brought messages, as they tell of it themselves, or as they came
// before turn.Level5. It returns an error if that is not certain.
func tookPlace(
	l *messageids.Lookup, h *memtable.Head, b *brought, known []knownID, after uint64,
) (then messageids.Replaced, ok bool, err error) {
	then, told, err := l.Replaced(b.call.Digest, after)
	if err != nil {
		return then, false, err
	}
	before, untold, err := untoldBefore(l, h, b.last, known, after)
	switch _, refused := layout.Refusal(err); {
	case err != nil && !(refused && told):
		return then, false, err
	case untold && !(told && then.Revision < before.Revision):
		return before, true, nil
	}
	return then, told, nil
}

// untoldBefore is tookPlace for messages from before turn.Level5: one behind the other, as a call may have brought them.
func untoldBefore(
	l *messageids.Lookup, h *memtable.Head, last int, known []knownID, after uint64,
) (then messageids.Replaced, ok bool, err error) {
	end := known[last].at
	if !known[last].came(end) || known[last].first.Revision <= after || end.Seq <= uint64(last) {
		return then, false, nil
	}
	start, err := l.WindowStart(end.Inc)
	if err != nil {
		return then, false, err
	}
	sure := last == len(known)-1
	for i := range last {
		at := layout.Place{Inc: end.Inc, Seq: end.Seq - uint64(last-i)}
		switch {
		case known[i].ID == "" || at.Seq < start:
			sure = false
		case !known[i].came(at):
			return then, false, nil
		}
	}
	if !sure {
		return then, false, conflictAt(h, "message %d is known by its id from an earlier call, which may have brought the "+
			"others, too", end.Seq)
	}
	return messageids.Replaced{First: end.Seq - uint64(last), Last: end.Seq, Revision: known[last].first.Revision}, true,
		nil
}

// mayBring returns an error if a message that a replace brings has an id that was in use with another payload, or that
// of a message that stays in the session; h is nil if there is none.
func (s *Operations) mayBring(h *memtable.Head, o *turn.Replace, known []knownID) error {
	var live memtable.View
	if h != nil {
		v, err := s.View(h)
		if err != nil {
			return err
		}
		live = v
		s.Allowance.Bound(&live)
	}
	var refused error
	for i := 0; i < len(known) && refused == nil; i++ {
		var err error
		if refused, err = known[i].mayComeTo(h, &live, o.From); err != nil {
			return err
		}
	}
	return cmp.Or(s.Allowance.Searched(&live), refused)
}

// mayComeTo is mayBring for one message.
func (k *knownID) mayComeTo(h *memtable.Head, live *memtable.View, from uint64) (refused, err error) {
	if k.inc == 0 {
		return nil, nil
	}
	var now layout.Record // as the session holds it
	held := h != nil && k.inc == h.Inc
	if held {
		if now, held, err = heldAs(h, live, &k.rec); err != nil {
			return nil, err
		}
	}
	switch {
	case !k.rec.Carries(k.Data) && !(k.whole && k.first.Carries(k.Data)) && !(held && string(now.Data) == string(k.Data)):
		return turn.Errorf(turn.IDReused, "id %q belongs to message %d, which has another payload", k.ID, k.rec.Seq), nil
	case held && now.Seq < from:
		return conflictAt(h, "id %q belongs to message %d, which stays in the session", k.ID, now.Seq), nil
	}
	return nil, nil
}

// heldAs finds the message that a session holds of one that was appended to it.
func heldAs(h *memtable.Head, live *memtable.View, rec *layout.Record) (layout.Record, bool, error) {
	if live.Live(rec) {
		return *rec, true, nil
	}
	return live.MovedTo(h.Moves, rec.Seq, rec.ID)
}

// conflictAt returns a Conflict at the revision of a session, nil if there is none.
func conflictAt(h *memtable.Head, format string, args ...any) error {
	e := turn.Errorf(turn.Conflict, format, args...)
	if h != nil {
		e.Revision = h.Revision
	}
	return e
}
