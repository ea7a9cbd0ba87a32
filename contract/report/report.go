// Package report writes the outcome of the contract suite: as a table for people, as JSON for programs, and as JUnit
// XML for CI.
package report

import (
	"fmt"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/recall"
)

// Outcome is everything that was found out about a target.
type Outcome struct {
	*contract.Report
	Scores   []recall.Score
	Required []contract.Gate // none: whatever the store supports
	// MinAccuracy is the percentage that must be remembered; 0: whatever it is.
	MinAccuracy float64
	Note        string // what else happened to the store
}

// Broken says what does not hold, empty if the contract does.
func (o *Outcome) Broken() []string {
	var out []string
	for _, g := range o.Missing(o.Required...) {
		s, ok := o.Gate(g)
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("gate %s is required and was not run", g))
		case s == contract.Unsupported:
			out = append(out, fmt.Sprintf("gate %s is required and not supported", g))
		case s == contract.Undecided:
			out = append(out, fmt.Sprintf("gate %s: %d of %d cases are undecided", g, o.Count(g, contract.Undecided),
				o.cases(g)))
		default:
			out = append(out, fmt.Sprintf("gate %s: %d of %d cases do not hold", g, o.Count(g, contract.Failed),
				o.cases(g)))
		}
	}
	if o.MinAccuracy > 0 && len(o.Scores) == 0 {
		out = append(out, "accuracy is required and could not be measured: the target cannot be restarted")
	}
	for _, s := range o.Scores {
		if p := s.After.Percent(); p < o.MinAccuracy {
			out = append(out, fmt.Sprintf("accuracy after %s is %.1f %%, less than %.1f %%", s.Kind, p, o.MinAccuracy))
		}
	}
	return out
}

func (o *Outcome) cases(g contract.Gate) int {
	return o.Count(g, contract.Passed) + o.Count(g, contract.Failed) + o.Count(g, contract.Unsupported) + o.Count(g,
		contract.Undecided)
}
