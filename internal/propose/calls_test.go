package propose

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/turn"
)

// callTable is a table of calls under the test's clock.
type callTable struct {
	*Calls
	t   *testing.T
	now time.Time
}

// rewind begins a generation in the term after that of the one before.
func (c *callTable) rewind() uint64 { return c.Calls.rewind(c.term + 1) }

// answered takes outcomes of a batch of the present generation.
func (c *callTable) answered(outs []fsm.Outcome) { c.Calls.answered(&callBatch{gen: c.gen}, outs) }

// Applied takes outcomes of an entry of the first term.
func (c *callTable) Applied(outs []fsm.Outcome) { c.Calls.Applied(0, outs) }

func testBounds() Bounds {
	return Bounds{
		LeaderWait: time.Second, OutcomeWait: 3 * time.Second, MaxBytes: 64 << 20, MaxCalls: 32768,
		EntryCommands: 1024, EntryBytes: 256 << 10, Depth: 2, Overlap: 64, ForwardDepth: 4,
	}
}

func newCallTable(t *testing.T) *callTable {
	c := &callTable{t: t, now: time.Unix(0, 0)}
	c.Calls = NewCalls(testBounds(), 7, func() time.Time { return c.now }, func() {})
	return c
}

func (c *callTable) add(n int) (out []*Call) {
	for range n {
		out = append(out, c.Submit(context.Background(), []byte("12345678"), 0))
	}
	return out
}

// took takes calls in the present generation and returns their numbers.
func (c *callTable) took(gen uint64, n int) (*callBatch, []uint64) {
	b := c.take(gen, n, 1<<20, fsm.EntryWeight)
	if b == nil {
		return nil, nil
	}
	var numbers []uint64
	for _, cmd := range b.commands {
		if cmd.Origin != 7 {
			c.t.Fatalf("command of origin %d", cmd.Origin)
		}
		numbers = append(numbers, cmd.Number)
	}
	return b, numbers
}

func ok(numbers ...uint64) (outs []fsm.Outcome) {
	for _, n := range numbers {
		outs = append(outs, fsm.Outcome{Origin: 7, Number: n, Result: turn.Result{First: n}})
	}
	return outs
}

// ended returns the kind of error that a call ended with; -1: none, -2: it did not end.
func ended(c *Call) int {
	select {
	case <-c.done:
	default:
		return -2
	}
	if c.err == nil {
		return -1
	}
	return int(c.err.Kind)
}

func (c *callTable) want(calls []*Call, kinds ...int) {
	c.t.Helper()
	for i, call := range calls {
		if got := ended(call); got != kinds[i] {
			c.t.Fatalf("call %d has outcome %d, want %d", i+1, got, kinds[i])
		}
	}
}

func TestCallsAreTakenInOrderAndAgain(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(5)
	_, got := c.took(c.gen, 3)
	if !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Fatalf("took %v", got)
	}
	c.answered(ok(2))
	gen := c.rewind()
	if b, _ := c.took(gen-1, 9); b != nil {
		t.Fatal("an earlier generation still takes calls")
	}
	if _, got = c.took(gen, 9); !slices.Equal(got, []uint64{1, 3, 4, 5}) {
		t.Fatalf("took %v again", got)
	}
	if b, _ := c.took(gen, 9); b != nil {
		t.Fatal("calls are taken twice")
	}
	c.Applied(ok(1, 3, 4))
	c.answered(ok(5, 1)) // the answer to what is known already
	c.want(calls, -1, -1, -1, -1, -1)
	if r, err := calls[2].Wait(); err != nil || r.First != 3 {
		t.Fatalf("call 3: %+v, %v", r, err)
	}
	if c.Unresolved() != 0 || len(c.queue) != 0 || c.bytes != 0 {
		t.Fatalf("%d unresolved, %d in the queue, %d bytes", c.Unresolved(), len(c.queue), c.bytes)
	}
	c.Applied([]fsm.Outcome{{Origin: 8, Number: 6}, {Origin: 7, Number: 99}}) // of no call here
}

func TestBatchesHaveBounds(t *testing.T) {
	c := newCallTable(t)
	c.Submit(context.Background(), make([]byte, 500), 0)
	c.Submit(context.Background(), make([]byte, 20), 0)
	c.Submit(context.Background(), make([]byte, 70), 0)
	c.Submit(context.Background(), make([]byte, 20), 0)
	for _, want := range []int{1, 2, 1} {
		if b := c.take(c.gen, 10, 100, fsm.EntryWeight); b == nil || len(b.calls) != want {
			t.Fatalf("a batch of %+v, want %d calls", b, want)
		}
	}
}

// A call that was never sent surely did not take place; one that was sent and lost may have.
func TestOutcomesOfCallsThatRunOut(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(5)
	lost, _ := c.took(c.gen, 1)
	refused, _ := c.took(c.gen, 1)
	pending, _ := c.took(c.gen, 1)
	final, _ := c.took(c.gen, 1)
	c.lost(lost)
	c.refused(refused, turn.Errorf(turn.Unavailable, "not now"), false)
	c.refused(final, turn.Errorf(turn.ReadOnly, "full"), true)
	c.want(calls, -2, -2, -2, int(turn.ReadOnly), -2)
	c.now = c.now.Add(1500 * time.Millisecond)
	c.Sweep()
	c.want(calls, -2, int(turn.Unavailable), -2, int(turn.ReadOnly), int(turn.Unavailable))
	if calls[1].err.Message != "not now" {
		t.Fatalf("call 2 ends with %v", calls[1].err)
	}
	c.now = c.now.Add(2 * time.Second)
	c.Sweep()
	c.want(calls, int(turn.Unknown), int(turn.Unavailable), int(turn.Unknown), int(turn.ReadOnly),
		int(turn.Unavailable))
	c.refused(pending, turn.Errorf(turn.Unavailable, "late"), true) // changes nothing
	c.Applied(ok(1))
	c.want(calls[:1], int(turn.Unknown))
}

// A refusal in a later attempt says nothing about an earlier one.
func TestRefusalDoesNotUndoExposure(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(1)
	c.took(c.gen, 1)
	gen := c.rewind()
	b, _ := c.took(gen, 1)
	c.refused(b, turn.Errorf(turn.ReadOnly, "full"), true)
	c.want(calls, -2)
	c.now = c.now.Add(2 * time.Second)
	c.Sweep()
	c.want(calls, -2)
	c.now = c.now.Add(2 * time.Second)
	c.Sweep()
	c.want(calls, int(turn.Unknown))
}

// A call that a leader rejects, and that it may have stored in an earlier term, is not left without an outcome when the
// leader has applied what it has of that term.
func TestRejectedCallEndsWhenItsAttemptsAreDecided(t *testing.T) {
	full := turn.Errorf(turn.ReadOnly, "full")
	for _, late := range []bool{false, true} {
		c := newCallTable(t)
		calls := c.add(3)
		c.took(c.gen, 2)
		gen := c.rewind()
		if late {
			c.Calls.Applied(c.term, nil)
		}
		b, _ := c.took(gen, 3)
		c.Applied(ok(1)) // by the first attempt
		c.refused(b, full, true)
		if !late {
			c.want(calls, -1, -2, int(turn.ReadOnly))
			c.Calls.Applied(c.term-1, nil) // an entry of the earlier term comes late
			c.want(calls, -1, -2, int(turn.ReadOnly))
			c.Calls.Applied(c.term, nil)
		}
		c.want(calls, -1, int(turn.Unknown), int(turn.ReadOnly))
		if _, err := calls[1].Wait(); !strings.Contains(err.Error(), "full") || c.Unresolved() != 0 {
			t.Errorf("it ends with: %v; %d calls are left", err, c.Unresolved())
		}
	}
}

// A call that is rejected by the leader that may have it from an earlier session ends when that leader has had it for
// long: entries of its term say nothing of it.
func TestCallRejectedByTheLeaderThatMayHaveItEndsLater(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(2)
	c.Calls.rewind(5)
	first, _ := c.took(c.gen, 2)
	c.lost(first)
	gen := c.Calls.rewind(5)
	b, _ := c.took(gen, 2)
	c.refused(b, turn.Errorf(turn.Overloaded, "busy"), true)
	c.Calls.Applied(5, nil)
	c.want(calls, -2, -2)
	c.Calls.Applied(5, ok(1))
	c.now = c.now.Add(c.bounds.LeaderWait)
	c.Sweep()
	c.want(calls, -1, int(turn.Unknown))
}

// The outcome in the first entry of a later term is told, though the call was rejected.
func TestOutcomeBeforeItsTerm(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(1)
	c.took(c.gen, 1)
	b, _ := c.took(c.rewind(), 1)
	c.refused(b, turn.Errorf(turn.ReadOnly, "full"), true)
	c.Calls.Applied(c.term, ok(1))
	c.want(calls, -1)
}

// What is rejected by one leader is sent to the next.
func TestRejectedCallIsSentAgain(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(1)
	c.took(c.gen, 1)
	b, _ := c.took(c.rewind(), 1)
	c.refused(b, turn.Errorf(turn.ReadOnly, "full"), true)
	gen := c.rewind()
	c.Calls.Applied(c.term, nil)
	if _, numbers := c.took(gen, 1); len(numbers) != 1 {
		t.Fatal("it is not sent again")
	}
	c.want(calls, -2)
	c.Applied(ok(1))
	c.want(calls, -1)
}

// A caller whose call waited behind others all the time is not told that there was no leader.
func TestBusyLeaderIsNotSaidToBeNone(t *testing.T) {
	for moves, want := range map[bool]string{true: "earlier ones", false: "no leader"} {
		c := newCallTable(t)
		calls := c.add(2)
		c.took(c.gen, 1)
		c.now = c.now.Add(c.bounds.LeaderWait)
		if moves {
			c.Applied(ok(1))
		}
		c.Sweep()
		if _, err := calls[1].Wait(); turn.KindOf(err) != turn.Unavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("with a leader %v: %v", moves, err)
		}
	}
}

func TestSkippedCalls(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(2)
	c.took(c.gen, 2)
	skipped := []fsm.Outcome{{Origin: 7, Number: 1, Skipped: true}, {Origin: 7, Number: 2, Skipped: true}}
	c.answered(skipped) // the leader applied them earlier; this node will, too
	c.want(calls, -2, -2)
	c.Applied(ok(1))
	c.Applied(skipped) // this node did not see the first application of call 2
	c.want(calls, -1, int(turn.Unknown))
}

func TestCallersThatGiveUp(t *testing.T) {
	c := newCallTable(t)
	ctx, cancel := context.WithCancel(t.Context())
	sent := c.Submit(ctx, []byte("a"), 0)
	c.took(c.gen, 1)
	unsent := c.Submit(ctx, []byte("b"), 0)
	cancel()
	_, err := sent.Wait()
	if turn.KindOf(err) != turn.Unknown {
		t.Errorf("the call that was sent ends with %v", err)
	}
	_, err = unsent.Wait()
	if turn.KindOf(err) != turn.Unavailable {
		t.Errorf("the call that was not sent ends with %v", err)
	}
	lost := c.Submit(ctx, []byte("c"), 0)
	b, _ := c.took(c.gen, 1)
	c.lost(b)
	_, err = lost.Wait()
	if turn.KindOf(err) != turn.Unknown {
		t.Errorf("the call that was sent and lost ends with %v", err)
	}
	if b, _ := c.took(c.gen, 9); b != nil {
		t.Fatal("a call is sent after its caller was told that it was not")
	}
}

func TestClosedTable(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(3)
	lost, _ := c.took(c.gen, 1)
	c.lost(lost)
	c.took(c.gen, 1)
	c.Close(turn.Errorf(turn.Unavailable, "stopping"))
	calls = append(calls, c.add(1)...)
	c.Abandon()
	c.want(calls, int(turn.Unknown), int(turn.Unknown), int(turn.Unavailable), int(turn.Unavailable))
}

// What a leader says to have refused before it was proposed, and what an earlier one may have in its log, ends when
// this node knows what became of that.
func TestCallRefusedUnproposedEndsWhenItsAttemptsAreDecided(t *testing.T) {
	limit := turn.Errorf(turn.TooLarge, "beyond the limits of this leader")
	for _, late := range []bool{false, true} {
		c := newCallTable(t)
		calls := c.add(3)
		c.took(c.gen, 2)
		gen := c.rewind()
		if late {
			c.Calls.Applied(c.term, nil)
		}
		c.took(gen, 3)
		c.Applied(ok(1)) // by the first attempt
		refused := ok(2, 3)
		for i := range refused {
			refused[i].Err = limit
		}
		c.answered(unproposed(refused))
		if !late {
			c.want(calls, -1, -2, int(turn.TooLarge))
			c.Calls.Applied(c.term, nil)
		}
		c.want(calls, -1, int(turn.Unknown), int(turn.TooLarge))
		if _, err := calls[1].Wait(); !strings.Contains(err.Error(), limit.Message) || c.Unresolved() != 0 {
			t.Errorf("it ends with: %v; %d calls are left", err, c.Unresolved())
		}
	}
}

// A call that a leader refused unproposed is sent to the next.
func TestCallRefusedUnproposedIsSentAgain(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(1)
	c.took(c.gen, 1)
	c.took(c.rewind(), 1)
	refused := ok(1)
	refused[0].Err = turn.Errorf(turn.TooLarge, "beyond the limits of this leader")
	c.answered(unproposed(refused))
	gen := c.rewind()
	c.Calls.Applied(c.term, nil)
	if _, numbers := c.took(gen, 1); len(numbers) != 1 {
		t.Fatal("it is not sent again")
	}
	c.want(calls, -2)
	c.Applied(ok(1))
	c.want(calls, -1)
}

// A call that an earlier leader may have in its log is not ended by what a later one says of
// it: that one may have refused it before it was proposed.
func TestLaterLeaderDoesNotRefuseAnExposedCall(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(2)
	first, _ := c.took(1, 1)
	c.lost(first)
	c.took(c.rewind(), 2)
	refused := ok(1, 2)
	for i := range refused {
		refused[i].Err = turn.Errorf(turn.TooLarge, "beyond the limits of this leader")
	}
	c.answered(refused)
	c.want(calls, -2, int(turn.TooLarge))
	c.Applied(ok(1)) // by the first attempt
	c.want(calls, -1, int(turn.TooLarge))
}
