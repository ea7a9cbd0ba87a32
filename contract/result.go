package contract

import (
	"slices"
	"time"
)

// Status is the outcome of a case.
type Status string

const (
	Passed Status = "pass"
	Failed Status = "FAIL"
	// Unsupported: the store lacks what the case needs. Neither pass nor failure.
	Unsupported Status = "not supported"
	// Undecided: the checker could not tell in time. Not a pass.
	Undecided Status = "undecided"
)

// Result is the outcome of one case.
type Result struct {
	Case    Case
	Status  Status
	Detail  string // what failed, or which capability is missing
	Elapsed time.Duration
}

// Report is the outcome of a run.
type Report struct {
	Target  string
	Seed    uint64 // 0: each case had its own
	Writers int
	Results []Result
	Elapsed time.Duration
}

// Count returns how many cases of a gate ("": of all gates) have that status.
func (r *Report) Count(g Gate, s Status) int {
	n := 0
	for i := range r.Results {
		if (g == "" || r.Results[i].Case.Gate == g) && r.Results[i].Status == s {
			n++
		}
	}
	return n
}

// Gate returns the verdict on a gate: Failed if any of its cases failed, else Undecided if any is
// undecided, Unsupported if none could be run, else Passed. ok is false if no case of it was selected.
func (r *Report) Gate(g Gate) (s Status, ok bool) {
	for i := range r.Results {
		ok = ok || r.Results[i].Case.Gate == g
	}
	switch {
	case r.Count(g, Failed) > 0:
		return Failed, ok
	case r.Count(g, Undecided) > 0:
		return Undecided, ok
	case r.Count(g, Passed) == 0:
		return Unsupported, ok
	}
	return Passed, ok
}

// Missing returns the gates that should hold but were not shown to. If no gate is required, these are
// the failed and undecided ones; otherwise, they are the required ones that did not pass, or could not
// be run at all.
func (r *Report) Missing(required ...Gate) []Gate {
	var out []Gate
	for _, g := range Gates {
		s, ok := r.Gate(g)
		if len(required) == 0 && (s == Failed || s == Undecided) || slices.Contains(required, g) &&
			(!ok || s != Passed) {
			out = append(out, g)
		}
	}
	return out
}
