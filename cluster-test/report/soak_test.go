package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck"
	"github.com/turnlog/turnlog/internal/lincheck/history"
)

func TestSoak(t *testing.T) {
	began := time.Date(2026, 11, 24, 13, 0, 0, 0, time.UTC)
	s := NewSoak(7, time.Hour, began)
	h := sample()
	h.Operations = append(h.Operations, history.Operation{Outcome: history.Fail,
		Error: &history.Error{Code: "UNAVAILABLE"}})
	for seed := range uint64(2) {
		r := &Report{Scenario: "kills", Seed: 7 + seed, Commit: "abc", Command: "the command", Seconds: 10,
			Passed: seed == 0, Checked: &lincheck.Verdict{Operations: 76}, Figures: Measure(h, 0, 10*time.Second)}
		if seed == 1 {
			r.Checked.Violations = []lincheck.Violation{{Session: "0/a", Rule: "lost", Text: "a message is gone"}}
		}
		s.Add(r, "/runs/two", map[string]float64{"torn tails": 1})
	}
	s.LeaveOut("disks", errors.New("no /dev/fuse"))
	var text strings.Builder
	s.Write(&text, began.Add(90*time.Second))
	for _, want := range []string{
		"Commit abc, seeds from 7. It began at 13:00:00 and has taken 1m30s of 1h0m0s.",
		"**2 runs, 1 failed**; 152 operations checked; 2 faults injected; 20s of work under faults.",
		"Left out: disks: no /dev/fuse.",
		"## Failed: kills, seed 8\n\n`the command`, in `/runs/two`:\n\n- session \"0/a\": lost: a message is gone",
		"| kills | 2 | 1 | 152 | 2 | 2 | 7 8 |",
		"| kill-leader | 2 |", "| UNAVAILABLE | 2 |", "Met: torn tails 2.",
		"Never injected: kill-follower, ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
	if s.AllLeftOut(2) || !s.AllLeftOut(1) {
		t.Error("what was left out is miscounted")
	}
}
