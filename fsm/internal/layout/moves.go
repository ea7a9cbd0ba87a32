package layout

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// Moves tells which seqs of a session were given to messages that an edit of the list
// moved there. Such a message is known by its id under the seq that it was appended
// with, where a tombstone stays; so that edits cannot have ids forgotten, the seqs of
// moved messages do not count in the window of turn.IDWindow. The others, counted from
// 1, are the ordinals of the messages appended.
//
// A session none of whose messages had an id has no moves: nothing is remembered of it.
type Moves struct {
	Total uint64 // moved messages ever
	// Runs of their seqs that lie in the window, or after its beginning. The slice is
	// never changed, only replaced.
	Runs Spans
}

// Ordinal returns that of an appended message in the window.
func (v Moves) Ordinal(seq uint64) uint64 {
	moved := v.Total
	for i := len(v.Runs) - 1; i >= 0 && v.Runs[i].From > seq; i-- {
		moved -= v.Runs[i].Len()
	}
	return seq - moved
}

// Seq returns the seq of the appended message in the window with an ordinal.
func (v Moves) Seq(ordinal uint64) uint64 {
	moved := v.Total
	for i := len(v.Runs) - 1; i >= 0 && ordinal+moved <= v.Runs[i].To; i-- {
		moved -= v.Runs[i].Len()
	}
	return ordinal + moved
}

// WindowStart returns the lowest seq whose id is remembered in a session with the
// highest seq last.
func (v Moves) WindowStart(last uint64) uint64 {
	appended := last - v.Total
	if appended < turn.IDWindow {
		return 1
	}
	return v.Seq(appended - turn.IDWindow + 1)
}

// With returns v with the run x, which ends with the highest seq given out. Runs before the
// window are left out, whether or not an id is in the window: one that comes later must
// find the runs that it holds.
func (v Moves) With(x Span) Moves {
	out := Moves{Total: v.Total + x.Len()}
	start := Moves{out.Total, append(v.Runs[:len(v.Runs):len(v.Runs)], x)}.WindowStart(x.To)
	for _, run := range v.Runs {
		if run.To >= start {
			out.Runs = append(out.Runs, run)
		}
	}
	if n := len(out.Runs); n > 0 && out.Runs[n-1].To+1 == x.From {
		out.Runs[n-1].To = x.To
	} else {
		out.Runs = append(out.Runs, x)
	}
	return out
}

// Append appends the stored form: uvarint total, then the runs.
func (v Moves) Append(b []byte) []byte {
	return v.Runs.Append(binary.AppendUvarint(b, v.Total))
}

// Moves reads what Moves.Append appended.
func (r *Reader) Moves() (v Moves) {
	v.Total = r.Uint()
	v.Runs = r.Spans()
	return v
}
