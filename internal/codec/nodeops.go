package codec

import "github.com/turnlog/turnlog/turn"

// The operations that a node proposes for the cluster itself.

// Tick does nothing but carry its entry's time stamp, so that deadlines that
// have passed are acted upon.
type Tick struct{}

// Epoch is the first command of a leader's term; once it is applied the leader
// knows of every entry that was committed before its term. The first Epoch ever
// applied gives the cluster its id.
type Epoch struct {
	ClusterID string
}

// Member records a node's incarnation and client addresses. The incarnation of
// a recorded member cannot be changed, only removed (Remove) and recorded again:
// a node that lost its disk must not come back under its old name.
type Member struct {
	ID          string
	Incarnation string
	RESPAddr    string
	HTTPAddr    string
	Remove      bool
	Learner     bool // it has no vote
}

// Checksum has every node compute a hash over its whole state as of this entry.
type Checksum struct{}

// Validate implements turn.Op.
func (*Tick) Validate(turn.Limits) error { return nil }

// Validate implements turn.Op.
func (*Epoch) Validate(turn.Limits) error { return nil }

// Validate implements turn.Op.
func (*Member) Validate(turn.Limits) error { return nil }

// Validate implements turn.Op.
func (*Checksum) Validate(turn.Limits) error { return nil }

func (c *coder) tick(*Tick)         {}
func (c *coder) checksum(*Checksum) {}

func (c *coder) epoch(o *Epoch) { c.string(&o.ClusterID) }

func (c *coder) member(o *Member) {
	c.string(&o.ID)
	c.string(&o.Incarnation)
	c.string(&o.RESPAddr)
	c.string(&o.HTTPAddr)
	c.bool(&o.Remove)
	if c.later(turn.Level2, o.Learner) {
		c.bool(&o.Learner)
	}
}
