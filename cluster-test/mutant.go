package main

import "time"

// A mutant is turnlog, or a library that it uses, with one promise broken on
// purpose. Tests that do not catch it prove nothing. Mutants exist in builds made
// for the occasion only: the compiler is given changed copies of the files.
type mutant struct {
	Name     string
	About    string
	Edits    []edit
	Catchers []catcher // each has to catch it
}

// An edit replaces a text that occurs once in the source tree's code, tests aside. It
// names no package and no file, and white space and comments do not count, so that
// it follows the code wherever that moves.
type edit struct {
	In       string // the function that the text is in, if it occurs in others too, such as "(*Node).Start"
	Old, New string
	Module   string // a module that the source tree depends on, whose code this is; empty: none
}

// catcher is what has to catch a mutant within a number of runs: a scenario of
// this harness, or a Go test.
type catcher struct {
	Scenario  string
	Time      time.Duration
	Nemesis   string // in place of the scenario's; as on the command line
	Workloads string
	Rate      int
	Secure    bool // with users and certificates
	Mix       bool // with nodes of two versions, of which the older one is no mutant

	Test     string // its name, behind that of its package and a dot if other packages have such a test
	SeedFlag string // the test's flag for a seed; TURNLOG_SEED is set in any case

	// Shows are signs of which one must be in what is found: a run that fails
	// since the machine is slow catches nothing. Empty: any failure of Test.
	Shows []string
	Runs  int
}

// String names the catcher as the table of mutants does.
func (c *catcher) String() string {
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

// check reports an edit that does not fit the code any more, and a catcher that is
// not there.
func (m *mutant) check(c *code) error {
	if _, err := c.change(m.Edits); err != nil {
		return err
	}
	for i := range m.Catchers {
		if err := m.Catchers[i].check(c); err != nil {
			return err
		}
	}
	return nil
}

func (c *catcher) check(in *code) error {
	if c.Test == "" {
		a := arguments{scenarios: c.Scenario, nemesis: c.Nemesis, workloads: c.Workloads}
		_, err := a.choose()
		return err
	}
	_, err := in.test(c.Test)
	return err
}
