package codec

import (
	"errors"

	"github.com/turnlog/turnlog/turn"
)

// SetLevel raises the cluster's level; to a level that is reached already, it does
// nothing. No member may be without that level: a state machine that does not know
// it stops. So it has no level of its own, and only the leader proposes it.
type SetLevel struct{ Level turn.ClusterLevel }

// Validate implements turn.Op.
func (*SetLevel) Validate(turn.Limits) error { return nil }

func (c *coder) setLevel(o *SetLevel) {
	n := uint64(o.Level)
	c.uint64(&n)
	o.Level = turn.ClusterLevel(n)
}

// since declares that a kind is understood from a level on.
func (k kind) since(level turn.ClusterLevel) kind {
	k.level = level
	return k
}

// needs declares that what is being coded is understood from a level on: a new
// choice of an enum, say. It is called after the field, whose value it depends on.
func (c *coder) needs(level turn.ClusterLevel) { c.level = max(c.level, level) }

// later opens the fields that a level added at the end of a record, and reports
// whether they are to be coded: when encoding if they are present, that is if one of
// them, or of a later level's, is not zero. Zero ones are left out, so that versions
// before the level read the record. A list's elements cannot grow so: they have no end.
func (c *coder) later(level turn.ClusterLevel, present bool) bool {
	if c.left >= endless && c.err == nil {
		c.err = errors.New("codec: an element of a list cannot get later fields")
	}
	if c.mode == decoding {
		present = c.left > 0
	}
	if c.err != nil || !present {
		return false
	}
	c.needs(level)
	return true
}
