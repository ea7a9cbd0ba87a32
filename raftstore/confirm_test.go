package raftstore

import (
	"testing"
)

// A node whose data may be an older copy confirms no read of a leader whose messages and votes it
// would refuse: it may have helped to elect another one, and have forgotten that.
func TestForgottenTermConfirmsNoRead(t *testing.T) {
	c := reserve(t, 1)
	for name, as := range map[string]struct {
		told statement
		want uint64
	}{
		"another node was in a later term":         {statement{Own: 3}, 3},
		"another node has seen it in one":          {statement{Index: 5, Term: 2, Promised: 2, Own: 2}, 2},
		"it was seen in one, and others in others": {statement{Index: 5, Term: 2, Promised: 2, Own: 3}, 3},
	} {
		n := c.open("n1")
		close(n.checked)
		as.told.Incarnation = n.data.Identity.Get().Incarnation
		if err := n.detector.Begin(t.Context(), says(t, as.told)); err != nil {
			t.Fatal(err)
		}
		n.ballot.Ask(0)
		if err := n.answers.Promises(); err != nil {
			t.Fatal(err)
		}
		if promised := n.answers.Promised(); promised < as.want {
			t.Errorf("%s: it says that it promised nothing after term %d; want %d", name, promised, as.want)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		c.wipe("n1")
	}
}
