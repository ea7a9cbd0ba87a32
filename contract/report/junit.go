package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"

	"github.com/turnlog/turnlog/contract"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"` // undecided
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitNote `xml:"failure,omitempty"`
	Error   *junitNote `xml:"error,omitempty"`
	Skipped *junitNote `xml:"skipped,omitempty"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the outcome as CI systems read it: a suite for each gate, and one
// for accuracy.
func (o *Outcome) JUnit(w io.Writer) error {
	out := junitSuites{Name: "turnlog verify " + o.Target}
	for _, g := range contract.Gates {
		s := junitSuite{Name: string(g)}
		for i := range o.Results {
			if r := &o.Results[i]; r.Case.Gate == g {
				s.add(r.Case.Name, r.Elapsed, r.Status, r.Case.Proves,
					fmt.Sprintf("%s\nseed %d", r.Detail, r.Case.Seed))
			}
		}
		if len(s.Cases) > 0 {
			out.Suites = append(out.Suites, s)
		}
	}
	accuracy := junitSuite{Name: "accuracy"}
	for _, s := range o.Scores {
		status := contract.Passed
		if s.After.Percent() < o.MinAccuracy {
			status = contract.Failed
		}
		accuracy.add("after "+string(s.Kind), 0, status, "",
			fmt.Sprintf("%.1f %% before, %.1f %% after", s.Before.Percent(), s.After.Percent()))
	}
	if len(accuracy.Cases) > 0 {
		out.Suites = append(out.Suites, accuracy)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(name string, elapsed time.Duration, status contract.Status, proves, detail string) {
	c := junitCase{Name: name, Class: "contract." + s.Name, Time: fmt.Sprintf("%.3f", elapsed.Seconds())}
	note := &junitNote{Message: proves, Text: detail}
	switch status {
	case contract.Failed:
		c.Failure = note
		s.Failures++
	case contract.Undecided:
		c.Error = note
		s.Errors++
	case contract.Unsupported:
		c.Skipped = &junitNote{Message: "not supported: " + detail}
		s.Skipped++
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}
