package sessions

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/internal/toolcalls"
	"github.com/turnlog/turnlog/turn"
)

// A head knows which of its last tool calls wait for their results (Open), and each message whether a call waited
// when it came (Inside). A cut right before a message that is not Inside parts no call from its result; so payloads
// need not be looked at again. Where what waits is no longer known, because something was removed or edited, a
// call that no result answers stands for it: then more messages are Inside than must be, never fewer.

// Calls are the ids of tool calls in payloads that an entry brings, by the payloads' first bytes. The zero value
// is empty.
type Calls map[*byte]toolcalls.IDs

// Find adds what the payloads of an operation have.
func (c *Calls) Find(op turn.Op) {
	switch o := op.(type) {
	case *turn.Append:
		c.findIn(o.Messages)
	case *turn.PushOnce:
		c.findIn(o.Messages)
	case *turn.Replace:
		c.findIn(o.Messages)
	case *turn.SetElement:
		c.find(o.Data)
	case *turn.InsertElement:
		c.find(o.Data)
	case *turn.EditMessage:
		c.find(o.Data)
	case *turn.Tx:
		for i := range o.Steps {
			c.Find(o.Steps[i].Op)
		}
	}
}

func (c *Calls) findIn(ms []turn.NewMessage) {
	for i := range ms {
		c.find(ms[i].Data)
	}
}

func (c *Calls) find(data []byte) {
	ids := toolcalls.Of(data)
	if ids.None() {
		return
	}
	if *c == nil {
		*c = make(Calls)
	}
	(*c)[&data[0]] = ids
}

// of returns what was found in a payload.
func (c Calls) of(data []byte) (ids toolcalls.IDs) {
	if len(c) > 0 && len(data) > 0 {
		ids = c[&data[0]]
	}
	return ids
}

// waits reports whether the next message of a session comes while a call waits for its result.
func waits(h *memtable.Head) bool {
	return slices.ContainsFunc(h.Open, func(c layout.OpenCall) bool { return c.Seq >= h.First && inReach(h, c.Seq) })
}

// inReach reports whether the next message may have the result of a call in the message with a seq.
func inReach(h *memtable.Head, seq uint64) bool { return h.Last+1-seq <= turn.ToolReach }

// noteCalls notes the calls and results in the payload that a message of an owned head has got. Before
// turn.Level2 none are noted.
func (s *Operations) noteCalls(h *memtable.Head, seq uint64, data []byte) {
	if s.Meta.Level < turn.Level2 {
		return
	}
	ids := s.calls.of(data)
	s.keepCalls(h, func(c layout.OpenCall) bool {
		return inReach(h, c.Seq) && !slices.Contains(ids.Results, c.ID) && !slices.Contains(ids.Calls, c.ID) &&
			(c.Seq != seq || c.ID == 0)
	})
	if len(ids.Calls) == 0 && !ids.More || !inReach(h, seq) {
		return
	}
	open := slices.Clone(h.Open)
	for _, id := range ids.Calls {
		open = append(open, layout.OpenCall{Seq: seq, ID: id})
	}
	if s.setOpen(h, open[:min(len(open), layout.MaxOpen)]); ids.More || len(open) > layout.MaxOpen {
		s.reopen(h)
	}
}

// reopen notes that any call of an owned head may wait.
func (s *Operations) reopen(h *memtable.Head) {
	open := slices.DeleteFunc(slices.Clone(h.Open), func(c layout.OpenCall) bool { return c.ID == 0 })
	s.setOpen(h, append(open, layout.OpenCall{Seq: h.Last}))
}

func (s *Operations) setOpen(h *memtable.Head, open []layout.OpenCall) {
	s.Tables.Active.Count(memtable.CallCost * (len(open) - len(h.Open)))
	h.Open = open
}

// keepCalls forgets all but some of the calls that wait.
func (s *Operations) keepCalls(h *memtable.Head, keep func(layout.OpenCall) bool) {
	goes := func(c layout.OpenCall) bool { return !keep(c) }
	if slices.ContainsFunc(h.Open, goes) {
		s.setOpen(h, slices.DeleteFunc(slices.Clone(h.Open), goes))
	}
}

// dropCalls is told what drop has just removed.
func (s *Operations) dropCalls(h *memtable.Head, side turn.Side, bottom bool, x *memtable.Removal) {
	reopens := x.SomeInside // a call may have had its result among what is gone
	switch {
	case h.Count() == 0:
		s.setOpen(h, nil)
		reopens = false
	case side == memtable.AnySide && bottom:
		reopens = false
	case side == memtable.AnySide:
		s.keepCalls(h, func(c layout.OpenCall) bool { return c.Seq < x.Lowest || c.ID == 0 })
		reopens = x.Inside
	}
	if reopens {
		s.reopen(h)
	}
}

// waitOn has those calls wait that waited before messages of an owned head were removed, the highest of which had
// a seq, if these were older than all that are left: no result of a call that is left was among them.
func (s *Operations) waitOn(h *memtable.Head, waited []layout.OpenCall, highest uint64) error {
	if h.Count() == 0 || slices.Equal(h.Open, waited) {
		return nil
	}
	if err := s.findFirst(h); err != nil {
		return err
	}
	if highest < h.First {
		s.setOpen(h, waited)
	}
	return nil
}
