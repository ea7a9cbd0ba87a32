package rollback

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// begin runs a Detector in a bubble of synctest. asked gets its questions; stop returns when it has ended.
func (n *node) begin(t *testing.T, answer func() []byte) (asked *[]question, stop func()) {
	t.Helper()
	asked = new([]question)
	n.cfg.Ask = func(_ context.Context, _ string, payload []byte) ([]byte, error) {
		var q question
		if err := json.Unmarshal(payload, &q); err != nil {
			t.Errorf("the question cannot be read: %v", err)
		}
		*asked = append(*asked, q)
		return answer(), nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); n.Run(ctx) }()
	synctest.Wait()
	return asked, func() { cancel(); <-done }
}

func nothing() []byte { return []byte(`{}`) }

// saved is what the file says that was seen of a node.
func (n *node) saved(t *testing.T, id string) Observation {
	t.Helper()
	s, err := Open(n.cfg.Seen.path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s.Last(id)
}

// What was seen of members is in the file in time, and at an orderly end at once; of those that are no
// members nothing is kept.
func TestRunSavesWhatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, "n1", "n2")
		for _, id := range []string{"n2", "n9"} {
			n.cfg.Seen.Met(id, Observation{"x", 1, 1, 1}, 1)
		}
		_, stop := n.begin(t, nothing)
		time.Sleep(saveEvery + askEvery)
		synctest.Wait()
		if got := n.saved(t, "n2"); got != (Observation{"x", 1, 1, 1}) {
			t.Errorf("of n2 the file says %+v", got)
		}
		if got := n.cfg.Seen.Last("n9"); got != (Observation{}) {
			t.Errorf("n9 is no member, and known by %+v", got)
		}
		n.cfg.Seen.Voted("n2", 5)
		stop()
		if got := n.saved(t, "n2").Promised; got != 5 {
			t.Errorf("after an orderly end the file says that n2 was in term %d", got)
		}
	})
}

// A node that lacks something is not said to be whole, and says itself that it is in doubt if it is.
func TestRunWhileSomethingIsLost(t *testing.T) {
	for _, doubt := range []uint64{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			n := newNode(t, "n1", "n2")
			loss := raftlog.Loss{Had: raftlog.Position{Index: 5, Term: 1}, Doubt: doubt}
			if err := n.cfg.Mark.NoteLoss(loss); err != nil {
				t.Fatal(err)
			}
			whole := 0
			n.cfg.Whole = func() { whole++ }
			asked, stop := n.begin(t, nothing)
			time.Sleep(askEvery)
			stop()
			if whole > 0 {
				t.Errorf("doubt %d: it is said to be whole", doubt)
			}
			for _, q := range *asked {
				if q.Doubt != (doubt > 0) {
					t.Errorf("doubt %d: it asks %+v", doubt, q)
				}
			}
			if len(*asked) == 0 {
				t.Error("it asks nothing")
			}
		})
	}
}

// What another node has seen counts in its first answer: later ones know what this one said meanwhile.
func TestFirstAnswerCounts(t *testing.T) {
	n := newNode(t, "n1", "n2")
	answered := make(answers)
	n.heard(answered, "n2", nothing(), nil)
	n.heard(answered, "n2", encoded(t, statement{Observation: Observation{Index: 9, Term: 3}}), nil)
	if l, missing := n.cfg.Mark.Lost(); missing {
		t.Errorf("the second answer has it lack something: %+v", l)
	}
}
