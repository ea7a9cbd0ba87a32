package raftstore

import (
	"slices"
	"strconv"
	"testing"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// A leader takes the batches of a session in their order. After one that it refused it takes
// none of those behind it, whatever becomes possible meanwhile: the sender begins a new
// session with the first call that has no outcome.
func TestForwardedBatchesKeepTheirPlaces(t *testing.T) {
	c := newCluster(t, 1)
	n := c.leader()
	full := false
	in := propose.NewInbox(n.writes.proposer, func(cs []codec.Command) (propose.Vetted, *propose.Failure) {
		if full {
			return propose.Vetted{}, propose.Definite(turn.Errorf(turn.Overloaded, "too much is in flight"))
		}
		return propose.Vetted{Fit: cs}, nil
	})
	for _, step := range []struct {
		what                   string
		full                   bool
		session, place, number uint64
		taken                  bool
	}{
		{"the first", false, 1, 0, 1, true},
		{"one that is refused", true, 1, 1, 2, false},
		{"the one behind it", false, 1, 2, 3, false},
		{"one behind that", false, 1, 3, 4, false},
		{"a new session's second", false, 2, 1, 3, false},
		{"its first", false, 2, 0, 2, true},
		{"its second", false, 2, 1, 3, true},
		{"a late one of the old session", false, 1, 1, 2, false},
		{"its third", false, 2, 2, 4, true},
	} {
		full = step.full
		if taken := takes(t, in, step.session, step.place, step.number); taken != step.taken {
			t.Errorf("%s: taken: %v", step.what, taken)
		}
	}
	if got := texts(t, n, "s", turn.Linearizable); !slices.Equal(got, []string{"1", "2", "3", "4"}) {
		t.Errorf("what was appended: %q", got)
	}
}

// takes forwards the call of that number, and reports whether its batch was taken.
func takes(t *testing.T, in *propose.Inbox, session, place, number uint64) bool {
	t.Helper()
	op, err := codec.EncodeOp(appendOp("s", strconv.FormatUint(number, 10)))
	if err != nil {
		t.Fatal(err)
	}
	failures := make(chan *propose.Failure, 1)
	batch := propose.Forwarded{Origin: 7, Session: session, Place: place,
		Commands: []codec.Command{{Origin: 7, Number: number, Op: op}}}
	in.Take("n2", batch, len(op), func(_ []fsm.Outcome, f *propose.Failure) { failures <- f })
	f := <-failures
	if f != nil && !f.Definite {
		t.Fatalf("call %d, place %d of session %d: %v", number, place, session, f.Err)
	}
	return f == nil
}

// A session ends with the leader's term in which its first batch was taken, also if the same
// node leads again: what was taken in between may have failed, and must not be overtaken.
func TestForwardingSessionEndsWithTheTerm(t *testing.T) {
	c := newCluster(t, 1)
	n := c.leader()
	in := propose.NewInbox(n.writes.proposer, n.levels.Vet)
	if !takes(t, in, 1, 0, 1) {
		t.Fatal("the first batch is not taken")
	}
	before := n.writes.proposer.Current()
	n.writes.proposer.End(before)
	eventuallyTrue(t, "the node leads again", func() bool { return n.writes.proposer.Current() != nil })
	if takes(t, in, 1, 1, 2) {
		t.Error("a batch is taken in a later term than the one before it in its session")
	}
	if !takes(t, in, 2, 0, 2) {
		t.Error("a new session's first batch is not taken")
	}
}
