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
		"the same again": {func([]raft.Log) {}, false},
		"of a later term": {func(sent []raft.Log) { sent[1] = raft.Log{Index: 8, Term: 3, Data: []byte("other")} },
			false},
		"other content":  {func(sent []raft.Log) { sent[1].Data = []byte("other") }, true},
		"another kind":   {func(sent []raft.Log) { sent[1].Type = raft.LogNoop }, true},
		"behind the log": {func(sent []raft.Log) { sent[4].Data = []byte("other") }, false},
		"dropped by this log": {func(sent []raft.Log) { sent[0] = raft.Log{Index: 2, Term: 1, Data: []byte("other")} },
			false},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, b *bench) {
				b.store(entries(1, 10, 1))
				if err := b.DeleteRange(1, 3); err != nil {
					t.Fatal(err)
				}
				var sent []raft.Log
				for _, e := range entries(7, 11, 1) {
					sent = append(sent, *e)
				}
				k.change(sent)
				var out []*raft.Log
				for i := range sent {
					out = append(out, &sent[i])
				}
				if err := b.CheckSame(out); (err != nil) != k.stops {
					t.Errorf("the node stops: %v, want %v", err, k.stops)
				}
				b.holds(entries(4, 10, 1))
			})
		})
	}
}

// Each member begins the log by itself, with the addresses as it was told them: by name or by
// number. What differs there came from no leader.
func TestOwnConfigurationIsNotCompared(t *testing.T) {
	configured := func(index uint64, addr raft.ServerAddress) []*raft.Log {
		c := raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: addr}}}
		return []*raft.Log{{Index: index, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(c)}}
	}
	eachEngine(t, func(t *testing.T, b *bench) {
		for index, stops := range map[uint64]bool{1: false, 2: true} {
			b.store(configured(index, "localhost:1"))
			if err := b.CheckSame(configured(index, "127.0.0.1:1")); (err != nil) != stops {
				t.Errorf("entry %d: %v", index, err)
			}
			b.remove(index, index)
		}
	})
}
