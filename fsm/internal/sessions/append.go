package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/messageids"
	"github.com/turnlog/turnlog/turn"
)

func (s *Operations) append(o *turn.Append, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.session(key)
	if err != nil {
		return s.unlessRepeated(err, func() (bool, error) { return s.Duplicate(key, nil, o.Messages, r) })
	}
	if o.OnlyExisting && (h == nil || h.Count() == 0) {
		return nil
	}
	if again, err := s.Duplicate(key, h, o.Messages, r); again || err != nil {
		return err
	}
	if err := CheckExpect(o.Expect, h); err != nil {
		return err
	}
	if o.MustExist && h == nil {
		return turn.Errorf(turn.NotFound, "the session does not exist")
	}
	return s.extend(key, h, o, r)
}

// extend appends messages that are new to a session; h is nil if there is none yet.
func (s *Operations) extend(key string, h *memtable.Head, o *turn.Append, r *turn.Result) (err error) {
	changesMeta := len(o.Set)+len(o.Unset) > 0
	var meta map[string]string
	size := 0
	if changesMeta {
		if meta, size, err = s.mergedMeta(h, o.Set, o.Unset); err != nil {
			return err
		}
	}
	if h == nil {
		if h, err = s.create(key); err != nil {
			return err
		}
	}
	h = s.Own(key, h)
	if changesMeta {
		s.replaceMeta(key, h, meta, size)
	}
	s.push(key, h, o.Messages, o.Side, nil, r)
	if err := s.shorten(h); err != nil {
		return err
	}
	if o.TTL > 0 {
		s.SetDeadline(key, h, s.After(o.TTL), h.Slide)
	} else if h.Slide > 0 {
		s.SetDeadline(key, h, s.After(h.Slide), h.Slide)
	}
	s.Changed(key, h)
	r.Revision, r.Count = h.Revision, h.Count()
	return nil
}

// push adds messages to an owned head, which is to be told as changed next. They tell b of the replace that brings
// them, nil for nothing.
func (s *Operations) push(
	key string, h *memtable.Head, ms []turn.NewMessage, side turn.Side, b *brought, r *turn.Result,
) {
	before := h.Held()
	r.First = h.Last + 1
	revision := s.Revision(key) + 1 // as advance will return
	if len(ms) > 0 {
		s.beginTurn(h, r.First)
	}
	for i := range ms {
		rec := layout.Record{Time: s.Meta.Clock, ID: ms[i].ID, Data: ms[i].Data, Side: side}
		if rec.ID != "" {
			rec.Revision, rec.Told = revision, s.Meta.Level >= turn.Level5
		}
		if b != nil {
			rec.Notes = b.notes(i, h.Inc)
		}
		rec.Inside = waits(h)
		s.place(h, rec)
		s.noteCalls(h, h.Last, rec.Data)
		s.kept += len(rec.Data)
	}
	r.Last = h.Last
	if !before && len(ms) > 0 {
		h.First = r.First
	}
	s.CountKey(key, before, h.Held())
}

// place appends a record, whose seq is yet to be given, to an owned head.
func (s *Operations) place(h *memtable.Head, rec layout.Record) {
	s.add(h, &rec)
	s.IDs.Note(h, &rec)
}

// add is place for a record that is not to be known by its id.
func (s *Operations) add(h *memtable.Head, rec *layout.Record) {
	h.Last++
	rec.Seq = h.Last
	h.Take(rec.Side, rec.Seq)
	h.Live[rec.Side]++
	h.Bytes += uint64(len(rec.Data))
	s.Tables.Active.Add(h, *rec)
}

// replaceRun gives messages a new place, the first one's at once behind all seqs given
// out: that of one new message, and of others that were taken out.
func (s *Operations) replaceRun(h *memtable.Head, rs []layout.Record) {
	first := h.Last + 1
	counted := h.LastID == 0
	for _, rec := range rs {
		if counted {
			s.place(h, rec)
		} else {
			s.add(h, &rec)
		}
	}
	if !counted {
		s.Tables.Active.Move(h, layout.Span{From: first, To: h.Last})
	}
}

// unlessRepeated returns the error of a key that holds another value by now, unless a call is a repeat of one to the
// session that the key held before: then it took place, and an error would deny that.
func (s *Operations) unlessRepeated(refused error, repeated func() (bool, error)) error {
	if s.Meta.Level < turn.Level5 || !turn.Is(refused, turn.WrongType) {
		return refused
	}
	again, err := repeated()
	if _, ok := layout.Refusal(err); again || err != nil && !ok {
		return err
	}
	return refused
}

// answerAsThen fills in r as when messages came the first time; h is what the key holds now, nil for nothing.
func answerAsThen(then *messageids.Replaced, h *memtable.Head, r *turn.Result) {
	r.First, r.Last, r.Revision, r.Duplicate = then.First, then.Last, then.Revision, true
	if h != nil {
		r.Count = h.Count()
	}
}

// Duplicate decides by their ids whether messages were appended before. If all
// of them were, in this order and contiguously, it fills in r as the first
// time; if only some were, or with other payloads, it returns the error.
//
// An id that a replace gave again still leads to the message that had it first. The revision of a later one would let a
// condition pass although others wrote.
func (s *Operations) Duplicate(key string, h *memtable.Head, ms []turn.NewMessage, r *turn.Result) (bool, error) {
	known := 0
	var first, before layout.Place
	var revision uint64
	contiguous := true
	messages := s.IDs.Lookup(key, h, ms)
	for i := range ms {
		if ms[i].ID == "" {
			continue
		}
		rec, inc, err := messages.Find(ms[i].ID)
		if err != nil {
			return false, err
		}
		if inc == 0 {
			continue
		}
		then, here, remembered, err := messages.First(&rec, inc)
		if err != nil {
			return false, err
		}
		if !remembered {
			then, contiguous = rec, false
		}
		if !then.Carries(ms[i].Data) {
			return false, turn.Errorf(turn.IDReused, "id %q belongs to message %d, which has another payload",
				ms[i].ID, then.Seq)
		}
		if known == 0 {
			first = here
		}
		contiguous = contiguous && (known == 0 || here == before.Next())
		before, revision = here, then.Revision
		known++
	}
	switch {
	case known == 0:
		return false, nil
	case known < len(ms) || !contiguous:
		return false, conflictAt(h, "%d of the %d messages are known by their ids, but not as one append", known,
			len(ms))
	}
	answerAsThen(&messageids.Replaced{First: first.Seq, Last: before.Seq, Revision: revision}, h, r)
	return true, nil
}
