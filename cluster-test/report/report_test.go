package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck"
	"github.com/turnlog/turnlog/internal/lincheck/history"
)

const second = int64(time.Second)

// sample has a write acknowledged every 100 ms, but none from 4 s to 6.5 s: the
// leader is killed at 4 s and is back at 6 s.
func sample() *history.History {
	h := &history.History{End: 10 * second}
	for i := range 100 {
		at := int64(i) * second / 10
		if at > 4*second && at < 65*second/10 {
			continue
		}
		h.Operations = append(h.Operations, history.Operation{Call: history.Call{Func: history.Append},
			Outcome: history.OK, Invoke: at - second/1000, Return: at, End: at})
	}
	h.Marks = []history.Event{
		{Type: history.Note, Time: second / 10, Node: "n1", Text: LeaderNote + " n1"},
		{Type: history.Fault, Time: 4 * second, Node: "n1", Text: "kill-leader", Begin: true},
		{Type: history.Note, Time: 6 * second, Node: "n2", Text: LeaderNote + " n2"},
		{Type: history.Fault, Time: 6 * second, Node: "n1", Text: "kill-leader"},
	}
	return h
}

func TestMeasure(t *testing.T) {
	f := Measure(sample(), 0, 10*time.Second)
	if f.LongestPause != 25*second/10 {
		t.Errorf("longest pause: %v", time.Duration(f.LongestPause))
	}
	if f.LeaderChanges != 1 || f.Faults != 1 {
		t.Errorf("%d leader changes, %d faults", f.LeaderChanges, f.Faults)
	}
	r := f.Recovery["kill-leader"]
	if r.Times != 1 || r.PauseWorst != 25*second/10 || r.HealMedian != second/2 {
		t.Errorf("recovery: %+v", r)
	}
	if f.Write.Median != second/1000 || f.Write.Count != 75 {
		t.Errorf("latency: %+v", f.Write)
	}
}

func TestPauseThatNeverEnds(t *testing.T) {
	if p := longestPause([]int64{1, 2}, 0, 10); p != 8 {
		t.Errorf("a pause up to the end: %d", p)
	}
	if p := longestPause(nil, 0, 10); p != 10 {
		t.Errorf("no acknowledgement at all: %d", p)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	h := sample()
	r := &Report{Scenario: "a <b>", Command: "again", Checked: &lincheck.Verdict{},
		Figures: Measure(h, 0, 10*time.Second)}
	if err := r.Write(dir, h); err != nil || !r.Passed {
		t.Fatalf("%v, passed %v", err, r.Passed)
	}
	data, err := os.ReadFile(filepath.Join(dir, "verdict.json"))
	if err != nil || !json.Valid(data) {
		t.Fatalf("verdict.json: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "timeline.html"))
	if err != nil || strings.Contains(string(text), "a <b>") || !strings.Contains(string(text), "kill-leader n1") {
		t.Fatalf("timeline.html: %v\n%s", err, text)
	}
	checkXML(t, string(draw(h)))

	r.Fail("%d things", 2)
	if err := r.Write(dir, h); err != nil || r.Passed {
		t.Errorf("with a problem: %v, passed %v", err, r.Passed)
	}
}

func TestTable(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"calm", "chaos", "calm"} {
		r := &Report{Scenario: name, Seconds: float64(i), Started: time.Unix(int64(i), 0), Checked: &lincheck.Verdict{},
			Figures: Measure(sample(), 0, 10*time.Second)}
		sub := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := r.Write(sub, sample()); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	if err := Table(&text, dir); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| calm | passed | 0 | 2 |", "| chaos | passed | 0 | 1 |",
		"| kill-leader | 2 | 2.5s | 500ms, 500ms |"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}

func TestUndecidedDoesNotPass(t *testing.T) {
	r := &Report{Checked: &lincheck.Verdict{Undecided: []lincheck.Violation{{}}}}
	if err := r.Write(t.TempDir(), sample()); err != nil || r.Passed {
		t.Errorf("%v, passed %v", err, r.Passed)
	}
}

func checkXML(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("svg: %v", err)
		}
	}
}

// TestQuorumShare: writes cannot be asked for while the faults leave no quorum, nor before a
// leader can have been elected after that.
func TestQuorumShare(t *testing.T) {
	h := sample()
	note := func(at int64, text string) {
		h.Marks = append(h.Marks, history.Event{Type: history.Note, Time: at * second, Node: "all", Text: text})
	}
	if f := Measure(h, 0, 8*time.Second); f.Quorum != [4]float64{1, 1, 1, 1} {
		t.Errorf("without a loss: %v", f.Quorum)
	}
	note(1, QuorumGoneNote)
	note(2, QuorumBackNote)
	note(3, QuorumGoneNote) // before a leader can have been elected
	note(3, QuorumBackNote) // counts again from 6 s on
	note(7, QuorumGoneNote)
	if f := Measure(h, 0, 8*time.Second); f.Quorum != [4]float64{0.5, 0, 0, 0.5} {
		t.Errorf("lost from 1 s to 3 s and from 7 s on: %v", f.Quorum)
	}
}
