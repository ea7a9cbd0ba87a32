package sessions

import (
	"cmp"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// rename moves what a key holds to another key, by a copy. The incarnation cannot go along: a repeated append to
// the old key finds its messages by their ids in what was deleted there.
func (s *Operations) rename(o *turn.Rename, r *turn.Result) error {
	x, err := s.renaming(o)
	if err != nil {
		return err
	}
	return s.finishRename(o, &x, r)
}

// renaming is a renaming that is possible: the heads of both keys, and what is to be moved.
type renaming struct {
	src, there *memtable.Head
	nothing    bool // is to be moved
	held       held
}

// renaming returns the error of a renaming, or takes its cost off the allowance.
func (s *Operations) renaming(o *turn.Rename) (x renaming, err error) {
	from, to := layout.JoinKey(o.Key), layout.JoinKey(o.To)
	if x.src, err = s.Find(from); err != nil {
		return x, err
	}
	if err := CheckExpect(o.Expect, x.src); err != nil {
		return x, err
	}
	if x.src == nil || o.List && !x.src.Held() {
		return x, turn.Errorf(turn.NotFound, "no such key")
	}
	if x.there, err = s.Find(to); err != nil {
		return x, err
	}
	switch exists := x.there != nil && (!o.List || x.there.Held()); {
	case from == to && o.Replace, exists && !o.Replace && o.List:
		x.nothing = true
		return x, nil
	case exists && !o.Replace:
		return x, turn.Errorf(turn.Exists, "the key to rename to exists already")
	}
	x.held, err = s.heldBy(x.src)
	return x, err
}

// finishRename carries out a renaming that is possible.
func (s *Operations) finishRename(o *turn.Rename, x *renaming, r *turn.Result) error {
	from, to := layout.JoinKey(o.Key), layout.JoinKey(o.To)
	if x.nothing {
		r.Count, r.Revision = x.there.Count(), x.there.Revision
		return nil
	}
	if x.there != nil {
		s.Remove(to, x.there)
	}
	h, err := s.moved(to, x.src, x.held)
	if err != nil {
		return err
	}
	s.CountKey(to, false, h.Held())
	if x.src.Deadline != 0 {
		s.SetDeadline(to, h, x.src.Deadline, x.src.Slide)
	}
	s.Changed(to, h)
	s.RemoveRenamed(from, x.src, layout.Renamed{To: o.To.Name, Inc: h.Inc})
	r.Removed, r.Count, r.Revision = 1, h.Count(), h.Revision
	return nil
}

// held is what a key holds: messages, or elements of another value.
type held struct {
	messages []layout.Record
	elements []element
}

type element struct {
	name  string
	value []byte
}

// heldBy returns what a key holds, and takes the cost off the allowance.
func (s *Operations) heldBy(src *memtable.Head) (c held, err error) {
	if src.Type == turn.TypeList {
		if c.messages, _, err = s.forked(src, src.Last); err == nil && s.keepsIDs() {
			c.messages, err = s.withRemembered(src, c.messages)
		}
	} else {
		c.elements, err = s.elementsOf(src)
	}
	return c, err
}

// keepsIDs: since turn.Level3, a renamed session knows the ids that it knew before.
func (s *Operations) keepsIDs() bool { return s.Meta.Level >= turn.Level3 }

// withRemembered adds to the live messages of a session, in memory of their own, what is remembered of others by
// their ids. All are in the order of their seqs.
func (s *Operations) withRemembered(src *memtable.Head, live []layout.Record) ([]layout.Record, error) {
	of := src.Remembered()
	if !of.Any() {
		return live, nil
	}
	v, err := s.View(src)
	if err != nil {
		return nil, err
	}
	// Since turn.Level4, it keeps no session of the largest size from being renamed. It is little, and an entry has it
	// once: nothing is left for another session with messages.
	free := s.Meta.Level >= turn.Level4 && s.Allowance.Whole && len(live) > 0
	total, all := uint64(0), live
	err = v.Ascend(of.WindowStart(), func(r *layout.Record) bool {
		if r.ID == "" || v.Live(r) || of.Moves.Runs.Has(r.Seq) {
			return true
		}
		rec := r.AsTombstone().Copied()
		total += cost.OfCopy(&rec)
		all = append(all, rec)
		return free || total <= uint64(s.Allowance.Left)
	})
	if err != nil {
		return nil, err
	}
	if free {
		s.Allowance.Take(total)
		total = 0
	}
	slices.SortFunc(all, func(a, b layout.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, s.Allowance.Spend(total)
}

// elementsOf is heldBy for a value of another type than a list.
func (s *Operations) elementsOf(src *memtable.Head) (found []element, err error) {
	want := src.Count()
	if src.Type == turn.TypeZSet {
		want *= 2 // by member and by score
	}
	if err := s.Allowance.Fits(src.Bytes + cost.Message*want); err != nil {
		return nil, err // without reading
	}
	e, err := s.Elements(src)
	if err != nil {
		return nil, err
	}
	total := uint64(0)
	err = e.Ascend("", func(name string, value []byte) bool {
		total += cost.Message + uint64(len(name)+len(value))
		found = append(found, element{name, value})
		return total <= uint64(s.Allowance.Left)
	})
	if err != nil {
		return nil, err
	}
	if err := s.Allowance.Spend(total); err != nil {
		return nil, err
	}
	if uint64(len(found)) != want {
		return nil, layout.HeadCountsMore(src.Inc)
	}
	return found, nil
}

// moved makes an owned head of a key that holds nothing, with all that is known of another, whose messages or
// elements it is given.
func (s *Operations) moved(to string, src *memtable.Head, c held) (h *memtable.Head, err error) {
	if src.Type == turn.TypeList {
		if h, err = s.create(to); err != nil {
			return nil, err
		}
		s.copyTo(h, src, src.Last, c.messages)
		s.forkCalls(h, src, false)
		h.Retention, h.Turns = src.Retention, slices.Clone(src.Turns)
		h.Dropped, h.LastID = src.Dropped, src.LastID
		if s.keepsIDs() {
			h.Moves = src.Moves // by which the ids are found
		}
		s.Tables.Active.Count(memtable.TurnCost*len(h.Turns) +
			memtable.SpanCost*(len(h.Dropped)+len(h.Moves.Runs)))
	} else {
		h = s.Begin(to, src.Type)
		h.Last, h.Live, h.Bytes, h.Entry = src.Last, src.Live, src.Bytes, src.Entry
		for _, x := range c.elements {
			s.PutElement(h, x.name, x.value)
		}
	}
	h.Created = src.Created
	return h, nil
}
