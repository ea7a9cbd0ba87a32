// Package mutation breaks turnlog on purpose, and checks that its tests notice. A mutant is described
// by the text that it replaces. To try one, turnlog is built with that change, and the test, or the
// scenario of cluster-test, that has to fail is run. Package mutants has the mutants.
package mutation

import "time"

// A Family is mutants that break something of one kind.
type Family struct {
	About   string
	Mutants []Mutant
}

// AllOf returns the mutants of the families.
func AllOf(families []Family) (all []Mutant) {
	for _, f := range families {
		all = append(all, f.Mutants...)
	}
	return all
}

// A Mutant is turnlog, or a library that it uses, with one promise broken on
// purpose. Tests that do not catch it prove nothing. Mutants exist in builds made
// for the occasion only: the compiler is given changed copies of the files.
type Mutant struct {
	Name     string
	About    string
	Edits    []Edit
	Catchers []Catcher // each has to catch it
}

// An Edit replaces a text that occurs once in the source tree's code, tests aside. It
// names no package and no file, and white space and comments do not count, so that
// it follows the code wherever that moves.
type Edit struct {
	In       string // the function that the text is in, if it occurs in others too, such as "(*Node).Start"
	Old, New string
	Module   string // a module that the source tree depends on, whose code this is; empty: none
}

// A Catcher must catch a mutant within a number of runs. It is a scenario of this harness, or a Go
// test.
type Catcher struct {
	Scenario  string
	Time      time.Duration
	Nemesis   string // in place of the scenario's; as on the command line
	Workloads string
	Rate      int
	Secure    bool // with users and certificates
	Mix       bool // with nodes of two versions, of which the older one is no mutant

	Test     string // its name, behind that of its package and a dot if other packages have such a test
	SeedFlag string // the test's flag for a seed; TURNLOG_SEED is set in any case

	// Shows are texts, one of which must be in the finding: a run that fails only because the machine
	// is slow catches nothing. Empty: any failure of Test.
	Shows []string
	Runs  int
}

// String names the catcher as the table of mutants does.
func (c *Catcher) String() string {
	if c.Test != "" {
		return c.Test
	}
	s := c.Scenario
	if c.Nemesis != "" {
		s += " with " + c.Nemesis
	}
	if c.Mix {
		s += ", two versions"
	}
	return s
}

// Check reports edits that no longer fit the code, and tests that do not exist.
func (m *Mutant) Check(c *Code) error {
	if _, err := c.Change(m.Edits); err != nil {
		return err
	}
	for i := range m.Catchers {
		if by := &m.Catchers[i]; by.Test != "" {
			if _, err := c.test(by.Test); err != nil {
				return err
			}
		}
	}
	return nil
}
