package raftstore

import (
	"encoding/binary"
	"testing"

	"github.com/turnlog/turnlog/internal/peer"
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
		as.told.Incarnation = n.ident.Get().Incarnation
		if err := n.detector.Begin(t.Context(), says(t, as.told)); err != nil {
			t.Fatal(err)
		}
		n.ballot.Ask(0)
		question := make([]byte, 16)
		n.ordered(peer.Request{Kind: kindConfirm, Payload: question}, func(answer []byte, err error) {
			if err != nil || binary.LittleEndian.Uint64(answer[8:]) < as.want {
				t.Errorf("%s: it says that it promised nothing after term %d, %v; want %d",
					name, binary.LittleEndian.Uint64(answer[8:]), err, as.want)
			}
		})
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		c.wipe("n1")
	}
}
