package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/turnlog/turnlog/contract"
)

// Table writes the outcome for people: what failed first, since that is what they
// are looking for.
func (o *Outcome) Table(w io.Writer) error {
	for i := range o.Results {
		r := &o.Results[i]
		if r.Status == contract.Failed || r.Status == contract.Undecided {
			fmt.Fprintf(w, "%s  %s\n  should hold: %s\n  guards against %s, %s\n%s\n  seed %d\n\n", r.Status,
				r.Case.ID(), r.Case.Proves,
				r.Case.Incident, contract.Incidents[r.Case.Incident], indent(r.Detail), r.Case.Seed)
		}
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "GATE\tPASS\tFAIL\tUNDECIDED\tNOT SUPPORTED\tTIME\t")
	for _, g := range contract.Gates {
		if _, ok := o.Gate(g); ok {
			o.row(t, string(g), g)
		}
	}
	o.row(t, "together", "")
	if err := t.Flush(); err != nil {
		return err
	}
	o.lacks(w)
	if err := o.accuracy(w); err != nil {
		return err
	}
	if o.Note != "" {
		fmt.Fprintf(w, "\n%s\n", o.Note)
	}
	fmt.Fprintf(w, "\n%s, %d writers, %s: ", o.Target, o.Writers, o.Elapsed.Round(100*time.Millisecond))
	if broken := o.Broken(); len(broken) > 0 {
		_, err := fmt.Fprintf(w, "the contract does NOT hold\n  %s\n", strings.Join(broken, "\n  "))
		return err
	}
	_, err := fmt.Fprintf(w, "the contract holds\n")
	return err
}

func (o *Outcome) row(w io.Writer, name string, g contract.Gate) {
	var elapsed time.Duration
	for i := range o.Results {
		if r := &o.Results[i]; g == "" || r.Case.Gate == g {
			elapsed += r.Elapsed
		}
	}
	if g == "" {
		elapsed = o.Elapsed // some cases run beside each other
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.1f s\t\n", name, o.Count(g, contract.Passed), o.Count(g, contract.Failed),
		o.Count(g, contract.Undecided), o.Count(g, contract.Unsupported), elapsed.Seconds())
}

// lacks lists what the store cannot do, and how many cases it was spared.
func (o *Outcome) lacks(w io.Writer) {
	count := map[string]int{}
	var names []string
	for i := range o.Results {
		if r := &o.Results[i]; r.Status == contract.Unsupported {
			if count[r.Detail]++; count[r.Detail] == 1 {
				names = append(names, r.Detail)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	for i, n := range names {
		names[i] = fmt.Sprintf("%s (%d)", n, count[n])
	}
	fmt.Fprintf(w, "\nnot supported, with the number of cases: %s\n", strings.Join(names, ", "))
}

func (o *Outcome) accuracy(w io.Writer) error {
	if len(o.Scores) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\nMEMORY ACCURACY\tBEFORE\tAFTER\t")
	for _, s := range o.Scores {
		fmt.Fprintf(t, "%s\t%.1f %%\t%.1f %%\t%s\n", s.Kind, s.Before.Percent(), s.After.Percent(), firstLine(s.Err))
	}
	return t.Flush()
}

func firstLine(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
