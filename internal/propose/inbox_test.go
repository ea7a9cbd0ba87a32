package propose

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
)

// After a batch that was refused, those behind it in its session are not even looked at.
func TestBatchesOutOfTurnAreNotVetted(t *testing.T) {
	in := NewInbox(nil, func([]codec.Command) (Vetted, *Failure) {
		t.Error("the commands of a batch are decoded")
		return Vetted{}, nil
	})
	var got *Failure
	in.Take("n2", Forwarded{Origin: 7, Session: 1, Place: 3, Commands: []codec.Command{{Origin: 7, Number: 4}}}, 20,
		func(_ []fsm.Outcome, f *Failure) { got = f })
	if got == nil || !got.Definite {
		t.Errorf("the batch ends with %+v", got)
	}
}

// A leader takes the batches of a node in their order, each once, and those of one session at a time: a batch that
// was refused is missing, so that nothing behind it is taken. Sessions that are over do not come back, unless the
// node has started again.
func TestInboxTakesBatchesInTurn(t *testing.T) {
	log := &slowLog{released: make(chan struct{})}
	defer close(log.released)
	p := leads(t, log, newCallTable(t).Calls)
	in := NewInbox(p, vetByNumber)
	for i, c := range []struct {
		node                   string
		origin, session, place uint64
		number                 uint64 // of the only command
		want                   string
	}{
		{"n2", 7, 1, 0, 1, "taken"},
		{"n2", 7, 1, 0, 1, "out of turn"},
		{"n2", 7, 1, 2, 3, "out of turn"},
		{"n2", 7, 1, 1, wontFit, "answered"},
		{"n2", 7, 1, 2, rejected, "rejected"},
		{"n2", 7, 1, 3, 4, "out of turn"},
		{"n2", 7, 1, 2, 4, "taken"},
		{"n2", 7, 1, 3, tooMuch, "rejected"},
		{"n2", 7, 1, 4, 5, "out of turn"},
		{"n3", 8, 1, 0, 1, "taken"}, // another node
		{"n2", 7, 2, 1, 5, "out of turn"},
		{"n2", 7, 2, 0, 5, "taken"},
		{"n2", 7, 1, 3, 6, "out of turn"},
		{"n2", 7, 1, 0, 6, "out of turn"},
		{"n2", 7, 2, 1, 6, "taken"},
		{"n2", 9, 1, 0, 1, "taken"}, // started again
		{"n2", 7, 2, 2, 7, "out of turn"},
	} {
		got := "taken"
		p.bounds.MaxBytes = 1 << 20
		if c.number == tooMuch {
			p.bounds.MaxBytes = 1
		}
		in.Take(c.node, Forwarded{Origin: c.origin, Session: c.session, Place: c.place,
			Commands: []codec.Command{{Origin: c.origin, Number: c.number}}}, 20,
			func(outs []fsm.Outcome, f *Failure) { got = inboxAnswer(outs, f) })
		if got != c.want {
			t.Errorf("batch %d, %d.%d of %s, is %s, not %s", i, c.session, c.place, c.node, got, c.want)
		}
	}
}

// The numbers of commands that a leader refuses: before it looks further, for good, and because too much waits.
const (
	rejected = 100 + iota
	wontFit
	tooMuch
)

func vetByNumber(cs []codec.Command) (v Vetted, f *Failure) {
	for _, c := range cs {
		switch c.Number {
		case rejected:
			return Vetted{}, NotLeader()
		case wontFit:
			v.Refused = append(v.Refused, fsm.Outcome{Origin: c.Origin, Number: c.Number})
		default:
			v.Fit = append(v.Fit, c)
		}
	}
	return v, nil
}

func inboxAnswer(outs []fsm.Outcome, f *Failure) string {
	switch {
	case f == nil && len(outs) > 0:
		return "answered"
	case f == nil || !f.Definite:
		return fmt.Sprint(outs, f)
	case *f == *outOfTurn() || f.Err.Message == outOfTurn().Err.Message:
		return "out of turn"
	}
	return "rejected"
}

// The batches of a session are for the term in which its first one was taken: between two terms others may have led.
func TestSessionEndsWithTheTerm(t *testing.T) {
	log := &slowLog{released: make(chan struct{})}
	defer close(log.released)
	p := leads(t, log, newCallTable(t).Calls)
	in := NewInbox(p, vetByNumber)
	var failures []bool
	take := func(session, place uint64) {
		in.Take("n2", Forwarded{Origin: 7, Session: session, Place: place,
			Commands: []codec.Command{{Origin: 7, Number: place + 1}}}, 20,
			func(_ []fsm.Outcome, f *Failure) { failures = append(failures, f != nil && f.Definite) })
	}
	take(1, 0)
	p.End(p.Current())
	take(1, 1)
	p.Begin(NewTerm(2, log, func() int64 { return 1 }), &Batch{Commands: commands(1),
		Done: func([]fsm.Outcome, *Failure) {}})
	take(1, 1)
	if !slices.Equal(failures, []bool{true, true, true}) {
		t.Errorf("in a later term: %v", failures)
	}
	if take(2, 0); len(failures) != 3 {
		t.Error("a new session is refused")
	}
}

// A batch of which some commands are refused is answered with an outcome for each.
func TestRefusedCommandsAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProposer(testBounds(), newCallTable(t).Calls, roomy{}, 9)
		p.Begin(NewTerm(1, told{outs: ok(1)}, func() int64 { return 1 }),
			&Batch{Done: func([]fsm.Outcome, *Failure) {}})
		in := NewInbox(p, vetByNumber)
		var got []uint64
		in.Take("n2", Forwarded{Origin: 7, Session: 1, Commands: []codec.Command{{Origin: 7, Number: 1},
			{Origin: 7, Number: wontFit}}}, 20, func(outs []fsm.Outcome, f *Failure) {
			for _, o := range outs {
				got = append(got, o.Number)
			}
		})
		p.step()
		synctest.Wait()
		if !slices.Equal(got, []uint64{1, wontFit, wontFit}) {
			t.Errorf("answered with outcomes of %v", got)
		}
	})
}
