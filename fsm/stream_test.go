package fsm

import (
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

var streamS = turn.Key{Namespace: "0", Name: "s"}

func addEntryOf(seq uint64, trim turn.StreamTrim) *turn.AddEntry {
	return &turn.AddEntry{Key: streamS, Make: turn.IDGiven, ID: turn.EntryID{Time: 1, Seq: seq},
		Fields: []turn.Field{{Name: "f", Value: []byte("v")}}, Trim: trim}
}

// A walk through a stream begins behind what was trimmed recently, wherever that is held.
func TestStreamWalkBeginsBehindWhatWasTrimmed(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		const n, kept = 300, 10
		for seq := uint64(1); seq <= n; seq++ {
			r.do(addEntryOf(seq, turn.StreamTrim{By: turn.ToLength, Length: kept}))
			if seq == n/2 {
				move()
			}
		}
		h, _ := r.m.keys.Tables.Head(layout.JoinKey(streamS))
		if want := layout.EntryName(turn.EntryID{Time: 1, Seq: n - kept}); h.Front < want {
			t.Errorf("a walk begins at %x, want it behind %x", h.Front, want)
		}
		move()
		got := r.query(&turn.Entries{Key: streamS, Max: turn.MaxEntryID()})
		if len(got.Entries) != kept || got.Entries[0].ID.Seq != n-kept+1 {
			t.Errorf("the stream holds %+v", got.Entries)
		}
	})
}

// BenchmarkAddEntryTrimmed adds entries to a stream of 100; all that were trimmed are in
// one memtable, which began after the stream. The time for one must not grow with their number.
func BenchmarkAddEntryTrimmed(b *testing.B) {
	m, index := benchValues(b), uint64(0)
	for b.Loop() {
		index++
		e := encodeEntryOf(b, addEntryOf(index, turn.StreamTrim{By: turn.ToLength, Length: 100}))
		if out := m.Apply(index, 1, e); out[0].Err != nil {
			b.Fatal(out[0].Err)
		}
		if index == 1 { // else nothing older holds the stream, and what was trimmed is forgotten
			if err := m.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
