package sessions

import (
	"bytes"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (s *Operations) editMessage(o *turn.EditMessage, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.expected(key, o.Expect)
	if err != nil {
		return err
	}
	if h == nil {
		return turn.Errorf(turn.NotFound, "the session does not exist")
	}
	rec, ok, err := s.message(h, o.Message)
	if err != nil {
		return err
	}
	if !ok {
		return turn.Errorf(turn.NotFound, "the session holds no such message")
	}
	s.edit(key, h, &rec, o.Data, r)
	return nil
}

// edit gives a message another payload, if it has that not already.
func (s *Operations) edit(key string, h *memtable.Head, rec *layout.Record, data []byte, r *turn.Result) {
	if !bytes.Equal(rec.Data, data) {
		h = s.Own(key, h)
		s.edited(key, h, rec, data)
	}
	r.First, r.Last, r.Count, r.Revision = rec.Seq, rec.Seq, h.Count(), h.Revision
}

// edited gives a message of an owned head another payload. The message keeps its seq, time
// and id.
func (s *Operations) edited(key string, h *memtable.Head, rec *layout.Record, data []byte) {
	h.Bytes += uint64(len(data)) - uint64(len(rec.Data))
	s.kept += len(data)
	s.Tables.Active.Edit(h, rec.Edited(data))
	if rec.Inside { // perhaps it was a result
		s.reopen(h)
	}
	s.noteCalls(h, rec.Seq, data)
	s.Changed(key, h)
}

func (s *Operations) removeMessage(o *turn.RemoveMessage, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.expected(key, o.Expect)
	if h == nil || err != nil {
		return err
	}
	rec, ok, err := s.message(h, o.Message)
	if err != nil {
		return err
	}
	if !ok {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	return s.removeOne(key, h, &rec, r)
}

// removeOne removes a message that a session holds.
func (s *Operations) removeOne(key string, h *memtable.Head, rec *layout.Record, r *turn.Result) error {
	h = s.Own(key, h)
	before := h.Count()
	var out picked
	out.take(rec)
	lists{s}.dropPicked(h, &out)
	r.Removed = 1
	err := s.settle(key, h, before, false)
	r.Count, r.Revision = h.Count(), h.Revision
	return err
}

// message finds a message that the session holds.
func (s *Operations) message(h *memtable.Head, m turn.MessageRef) (rec layout.Record, ok bool, err error) {
	if h.Count() == 0 {
		return rec, false, nil
	}
	if err := s.Allowance.Search(); err != nil {
		return rec, false, err
	}
	v, err := s.View(h)
	if err != nil {
		return rec, false, err
	}
	s.Allowance.Bound(&v)
	if m.Seq == 0 {
		rec, ok, err = s.messageByID(h, &v, m.ID)
	} else {
		rec, ok, err = v.Find(m.Seq)
		ok = ok && v.Live(&rec)
		v.Passed++
	}
	if paid := s.Allowance.Searched(&v); err == nil {
		err = paid
	}
	return rec, ok, err
}

// messageByID is message for one that is remembered by its id. Others, which are older, are
// looked for among all messages, the newest first.
func (s *Operations) messageByID(
	h *memtable.Head, v *memtable.View, id string,
) (rec layout.Record, ok bool, err error) {
	known, ok, err := s.IDs.Find(h, id)
	switch {
	case err != nil:
		return rec, false, err
	case ok && v.Live(&known):
		return v.Find(known.Seq)
	case ok:
		return v.MovedTo(h.Moves, known.Seq, id)
	}
	n := uint64(0)
	err = s.Allowance.SearchNewest(v, layout.MaxSeq, func(r *layout.Record) bool {
		n++
		if ok = r.ID == id; ok {
			rec = r.Copied()
		}
		return !ok
	})
	v.Passed = 0 // it is paid for
	if err == nil && !ok && n != h.Count() {
		err = layout.HeadCountsMore(h.Inc)
	}
	return rec, ok, err
}
