package propose

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// Call is an operation in flight.
type Call struct {
	table  *Calls
	ctx    context.Context
	number uint64 // its tag is (origin of the table, number)
	op     []byte
	weight int // fsm.Weight of op
	begun  time.Time

	// Guarded by table.mu until done is closed.
	result turn.Result
	err    *turn.Error
	ended  bool
	// attempt is the generation in which the call was last handed to a leader;
	// 0: no attempt is in flight.
	attempt uint64
	// exposed: an attempt may have succeeded although this node does not know. lastTerm is that of the last such
	// attempt.
	exposed  bool
	lastTerm uint64
	refusal  *turn.Error // why the last attempt surely failed
	// rejected: by the leader of this generation, for good: in this generation the call is not sent again, and only an
	// earlier attempt can have succeeded. The next generation sends it again, if it has not ended by then.
	// alone: the leader may have proposed calls behind it.
	rejected, alone bool

	done chan struct{}
}

// Wait returns the outcome. The error is nil or a *turn.Error; only one of kind
// Unknown leaves open whether the operation took place. When the context that
// was given to Submit ends, so does the wait.
func (c *Call) Wait() (turn.Result, error) {
	select {
	case <-c.done:
	default:
		select {
		case <-c.done:
		case <-c.ctx.Done():
			c.table.giveUp(c)
		}
	}
	if c.err != nil {
		return turn.Result{}, c.err
	}
	return c.result, nil
}

// Done is closed when the outcome is known; Wait may return before, because a
// context ended.
func (c *Call) Done() <-chan struct{} { return c.done }
