package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// event is one call of a store, as its caller saw it. Processes that write send
// their events to the suite as JSON.
type event struct {
	Op      string  `json:"op"`
	Session string  `json:"session"`
	Key     turnKey `json:"key"` // of the turn added; of a load, only the writer counts
	Parts   int     `json:"parts,omitempty"`
	Start   int64   `json:"start"` // as now
	End     int64   `json:"end"`
	Outcome outcome `json:"outcome"`
	Err     string  `json:"err,omitempty"`
	// Seen are the turns that a load showed; of a conditional add, those of the
	// state that it was made upon.
	Seen []turnKey `json:"seen,omitempty"`
}

const (
	opAdd   = "add"
	opAddIf = "add if"
	opLoad  = "load"
	opClear = "clear"
	opTrim  = "trim"
	opPop   = "pop"
)

// outcome is what a caller knows after a call.
type outcome string

const (
	saved   outcome = "ok"      // it took place
	refused outcome = "refused" // it surely did not
	unknown outcome = "unknown" // perhaps
)

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return saved
	case errors.Is(err, ErrConflict), errors.Is(err, ErrRefused), errors.Is(err, ErrNotApplied):
		return refused
	}
	return unknown
}

// history is what happened in a case, in no particular order. Any goroutine may
// add to it.
type history struct {
	saved atomic.Int64 // adds that were acknowledged, for those who wait for them

	mu     sync.Mutex
	events []event
}

func (h *history) record(e event) {
	if e.Op == opAdd && e.Outcome == saved {
		h.saved.Add(1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// of returns the events of a session, ordered by their start.
func (h *history) of(session string) []event {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []event
	for _, e := range h.events {
		if e.Session == session {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b event) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// lastError is that of the newest call that failed.
func (h *history) lastError() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range slices.Backward(h.events) {
		if e.Err != "" {
			return e.Err
		}
	}
	return "none"
}

func (e *event) what() string {
	switch e.Op {
	case opAdd:
		return fmt.Sprintf("add turn %d", e.Key.Turn)
	case opAddIf:
		return fmt.Sprintf("add turn %d upon %d turns", e.Key.Turn, len(e.Seen))
	case opLoad:
		return fmt.Sprintf("load: %d turns", len(e.Seen))
	}
	return e.Op
}

func (e *event) result() string {
	if e.Err == "" {
		return string(e.Outcome)
	}
	text, _, _ := strings.Cut(e.Err, "\n")
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return fmt.Sprintf("%s: %s", e.Outcome, text)
}

const shownEvents = 6 // before and after the one in question, that do not overlap it

// around shows what happened at the time of the event that is: every line one
// call, with times in milliseconds from the first one shown.
func around(events []event, is func(*event) bool) string {
	at := slices.IndexFunc(events, func(e event) bool { return is(&e) })
	if at < 0 {
		return ""
	}
	focus := events[at]
	first, last := max(0, at-shownEvents), min(len(events), at+shownEvents+1)
	shown := slices.DeleteFunc(slices.Clone(events[first:last]), func(e event) bool {
		near := min(focus.Start-e.End, e.Start-focus.End)
		return near > int64(2e9) // what lies seconds apart explains nothing
	})
	var b strings.Builder
	b.WriteString("what happened around it, in ms:\n")
	for _, e := range shown {
		mark := ""
		if e.Start == focus.Start && e.Key == focus.Key && e.Op == focus.Op {
			mark = "   <<<"
		}
		fmt.Fprintf(&b, "  %9.3f – %9.3f  writer %-3d %-26s %s%s\n",
			float64(e.Start-shown[0].Start)/1e6, float64(e.End-shown[0].Start)/1e6, e.Key.Writer, e.what(),
			e.result(), mark)
	}
	return b.String()
}
