package propose

import (
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// What a leader of an earlier generation refused unproposed says nothing of the attempt that is on its way to the
// present leader: its outcome is waited for.
func TestLateRefusalLeavesThePresentAttempt(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(1)
	first, _ := c.took(c.gen, 1) // sent to the leader of term 0
	gen := c.rewind()            // another leads,
	c.Calls.Applied(c.term, nil) // an entry of its term was applied,
	c.took(gen, 1)               // and the call is on its way to it
	refused := ok(1)
	refused[0].Err = turn.Errorf(turn.TooLarge, "beyond the limits of the leader before")
	c.Calls.answered(first, unproposed(refused)) // comes late
	c.want(calls, -2)
	c.answered(ok(1)) // the present leader's
	c.want(calls, -1)
}
