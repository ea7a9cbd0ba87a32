package propose

import (
	"testing"

	"github.com/turnlog/turnlog/fsm"
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

// A call that a leader refused unproposed, while those behind it took place, is not sent to the next leader: it would
// take place behind them.
func TestRefusedCallDoesNotFallBehind(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(3)
	c.took(c.gen, 2)
	gen := c.rewind() // the first leader is gone; both may be in its log
	c.took(gen, 2)
	refused := ok(1)
	refused[0].Err = turn.Errorf(turn.TooLarge, "beyond the limits of the second leader")
	c.answered(append([]fsm.Outcome(ok(2)), unproposed(refused)...))
	c.want(calls, -2, -1, -2) // the second took place
	gen = c.rewind()          // a third leads, before this node has applied an entry of the second
	c.want(calls, int(turn.Unknown), -1, -2)
	if _, numbers := c.took(gen, 3); len(numbers) != 1 || numbers[0] != 3 {
		t.Errorf("calls %v are sent behind call 2, which took place", numbers)
	}
}

// A call of a batch that was refused as a whole is sent again, and so are those behind it, which were refused, too.
func TestRefusedBatchIsSentAgain(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(2)
	c.took(c.gen, 2)
	b, _ := c.took(c.rewind(), 2)
	c.refused(b, turn.Errorf(turn.Overloaded, "too much waits"), true)
	c.want(calls, -2, -2)
	if _, numbers := c.took(c.rewind(), 2); len(numbers) != 2 {
		t.Errorf("of two calls, %v are sent again", numbers)
	}
}
