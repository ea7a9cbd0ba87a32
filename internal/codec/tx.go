package codec

import (
	"slices"

	"github.com/turnlog/turnlog/turn"
)

func (c *coder) tx(o *turn.Tx) {
	list(c, &o.Watch, func(w *turn.Watched) {
		c.key(&w.Key)
		c.uint64(&w.Revision)
	})
	list(c, &o.Steps, c.step)
	if c.later(turn.Level2, o.All || len(o.Conditions) > 0 || o.ID != "") {
		c.bool(&o.All)
		list(c, &o.Conditions, func(d *turn.Condition) {
			c.key(&d.Key)
			enum(c, &d.Is, turn.Absent)
			c.uint64(&d.N)
		})
		c.string(&o.ID)
		if o.All && slices.ContainsFunc(o.Steps, func(s turn.Step) bool { return s.Later() }) {
			c.needs(turn.Level3)
		}
	}
}

// step codes whether it is a query, then the operation or query.
func (c *coder) step(s *turn.Step) {
	query := s.Query != nil
	c.bool(&query)
	k := kinded{kinds: &opKinds, value: s.Op, step: true}
	if query {
		k = kinded{kinds: &queryKinds, value: s.Query}
	}
	c.nested(c.mode, &k)
	if c.mode != decoding || c.err != nil {
		return
	}
	if query {
		s.Query = k.value.(turn.Query)
	} else {
		s.Op = k.value.(turn.Op)
	}
}

func (c *coder) outcome(o *turn.Outcome) {
	c.nested(c.mode, (*stepResult)(&o.Result))
	optional(c, &o.Err, func(e *turn.Error) { c.nested(c.mode, (*opError)(e)) })
}
