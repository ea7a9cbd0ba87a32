package report

import (
	"encoding/json"
	"io"

	"github.com/turnlog/turnlog/contract"
)

type outcomeJSON struct {
	Target   string      `json:"target"`
	Holds    bool        `json:"holds"`
	Broken   []string    `json:"broken"`
	Seed     uint64      `json:"seed,omitempty"` // of all cases
	Writers  int         `json:"writers"`
	Seconds  float64     `json:"seconds"`
	Gates    []gateJSON  `json:"gates"`
	Cases    []CaseJSON  `json:"cases"`
	Accuracy []scoreJSON `json:"accuracy"`
	Note     string      `json:"note,omitempty"`
}

type gateJSON struct {
	Gate        contract.Gate   `json:"gate"`
	Status      contract.Status `json:"status"`
	Passed      int             `json:"passed"`
	Failed      int             `json:"failed"`
	Undecided   int             `json:"undecided"`
	Unsupported int             `json:"not_supported"`
}

// CaseJSON is a case, with its result if it was run.
type CaseJSON struct {
	Case     string                `json:"case"`
	Incident contract.Incident     `json:"incident"`
	Proves   string                `json:"proves"`
	Seed     uint64                `json:"seed"`
	Needs    []contract.Capability `json:"needs,omitempty"`
	Status   contract.Status       `json:"status,omitempty"`
	Detail   string                `json:"detail,omitempty"`
	Seconds  float64               `json:"seconds,omitempty"`
}

type scoreJSON struct {
	Restart contract.Capability `json:"restart"`
	Before  float64             `json:"before_percent"`
	After   float64             `json:"after_percent"`
	Error   string              `json:"error,omitempty"`
}

// Describe returns a case without a result.
func Describe(c *contract.Case) CaseJSON {
	return CaseJSON{Case: c.ID(), Incident: c.Incident, Proves: c.Proves, Seed: c.Seed, Needs: c.Needs}
}

// JSON writes the outcome as one object.
func (o *Outcome) JSON(w io.Writer) error {
	broken := o.Broken()
	out := outcomeJSON{Target: o.Target, Holds: len(broken) == 0, Broken: append([]string{}, broken...), Seed: o.Seed,
		Writers: o.Writers,
		Seconds: o.Elapsed.Seconds(), Gates: []gateJSON{}, Cases: []CaseJSON{}, Accuracy: []scoreJSON{}, Note: o.Note}
	for _, g := range contract.Gates {
		if s, ok := o.Gate(g); ok {
			out.Gates = append(out.Gates, gateJSON{g, s, o.Count(g, contract.Passed), o.Count(g, contract.Failed),
				o.Count(g, contract.Undecided), o.Count(g, contract.Unsupported)})
		}
	}
	for i := range o.Results {
		r := &o.Results[i]
		c := Describe(&r.Case)
		c.Status, c.Detail, c.Seconds = r.Status, r.Detail, r.Elapsed.Seconds()
		out.Cases = append(out.Cases, c)
	}
	for _, s := range o.Scores {
		j := scoreJSON{Restart: s.Kind, Before: s.Before.Percent(), After: s.After.Percent()}
		if s.Err != nil {
			j.Error = s.Err.Error()
		}
		out.Accuracy = append(out.Accuracy, j)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
