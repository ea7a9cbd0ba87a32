package raftlog

import (
	"testing"

	"github.com/hashicorp/raft"
)

// A leader whose entries differ from those that this node has of the same term is a second
// leader of that term: the node takes nothing of it, and stops.
func TestSecondLeaderOfATermStopsTheNode(t *testing.T) {
	for name, k := range map[string]struct {
		change func(sent []raft.Log)
		stops  bool
	}{
		"the same again":      {func([]raft.Log) {}, false},
		"of a later term":     {func(sent []raft.Log) { sent[1] = raft.Log{Index: 8, Term: 3, Data: []byte("other")} }, false},
		"other content":       {func(sent []raft.Log) { sent[1].Data = []byte("other") }, true},
		"another kind":        {func(sent []raft.Log) { sent[1].Type = raft.LogNoop }, true},
		"behind the log":      {func(sent []raft.Log) { sent[4].Data = []byte("other") }, false},
		"dropped by this log": {func(sent []raft.Log) { sent[0] = raft.Log{Index: 2, Term: 1, Data: []byte("other")} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, b *bench) {
				b.store(entries(1, 10, 1))
				if err := b.DeleteRange(1, 3); err != nil {
					t.Fatal(err)
				}
				var failed error
				b.cfg.Fail = func(err error) { failed = err }
				var sent []raft.Log
				for _, e := range entries(7, 11, 1) {
					sent = append(sent, *e)
				}
				k.change(sent)
				var out []*raft.Log
				for i := range sent {
					out = append(out, &sent[i])
				}
				err := b.CheckSame(out)
				if (err != nil) != k.stops || (failed != nil) != k.stops {
					t.Errorf("the node stops: %v (%v), want %v", err, failed, k.stops)
				}
				b.holds(entries(4, 10, 1))
			})
		})
	}
}
