package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/report"
)

// TestThreeOutcomes: an undecided case is neither a pass nor a failure, in every form.
func TestThreeOutcomes(t *testing.T) {
	var o report.Outcome
	o.Report = &contract.Report{Target: "t"}
	for i, s := range []contract.Status{contract.Passed, contract.Undecided, contract.Unsupported} {
		o.Results = append(o.Results, contract.Result{Case: contract.Cases()[i], Status: s, Detail: "because"})
	}
	if s, _ := o.Gate(contract.Sequential); s != contract.Undecided {
		t.Errorf("the gate is %s", s)
	}
	if broken := o.Broken(); len(broken) != 1 || broken[0] != "gate sequential: 1 of 3 cases are undecided" {
		t.Errorf("broken: %q", broken)
	}
	var text bytes.Buffer
	if err := o.JSON(&text); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Holds bool
		Gates []struct {
			Status                    string
			Passed, Failed, Undecided int
		}
	}
	if err := json.Unmarshal(text.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if g := read.Gates[0]; read.Holds || g.Status != "undecided" || g.Passed != 1 || g.Failed != 0 || g.Undecided != 1 {
		t.Errorf("JSON: %s", &text)
	}
	text.Reset()
	if err := o.JUnit(&text); err != nil {
		t.Fatal(err)
	}
	if s := text.String(); !strings.Contains(s, `failures="0" errors="1" skipped="1"`) ||
		strings.Contains(s, "<failure") || !strings.Contains(s, "<error") {
		t.Errorf("JUnit: %s", s)
	}
}
