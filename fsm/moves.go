package fsm

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// moves tells which seqs of a session were given to messages that an edit of the list
// moved there. Such a message is known by its id under the seq that it was appended
// with, where a tombstone stays; so that edits cannot have ids forgotten, the seqs of
// moved messages do not count in the window of turn.IDWindow. The others, counted from
// 1, are the ordinals of the messages appended.
//
// A session none of whose messages had an id has no moves: nothing is remembered of it.
// Neither had any before turn.Level1.
type moves struct {
	total uint64 // moved messages ever
	// runs of their seqs that lie in the window, or after its beginning. The slice is
	// never changed, only replaced.
	runs spans
}

// ordinal returns that of an appended message in the window.
func (v moves) ordinal(seq uint64) uint64 {
	moved := v.total
	for i := len(v.runs) - 1; i >= 0 && v.runs[i].from > seq; i-- {
		moved -= v.runs[i].len()
	}
	return seq - moved
}

// seq returns the seq of the appended message in the window with an ordinal.
func (v moves) seq(ordinal uint64) uint64 {
	moved := v.total
	for i := len(v.runs) - 1; i >= 0 && ordinal+moved <= v.runs[i].to; i-- {
		moved -= v.runs[i].len()
	}
	return ordinal + moved
}

// windowStart returns the lowest seq whose id is remembered in a session with the
// highest seq last.
func (v moves) windowStart(last uint64) uint64 {
	appended := last - v.total
	if appended < turn.IDWindow {
		return 1
	}
	return v.seq(appended - turn.IDWindow + 1)
}

// with returns v with the run x, which ends with the highest seq given out. Runs before the
// window are left out, whether or not an id is in the window: one that comes later must
// find the runs that it holds.
func (v moves) with(x span) moves {
	out := moves{total: v.total + x.len()}
	start := moves{out.total, append(v.runs[:len(v.runs):len(v.runs)], x)}.windowStart(x.to)
	for _, run := range v.runs {
		if run.to >= start {
			out.runs = append(out.runs, run)
		}
	}
	if n := len(out.runs); n > 0 && out.runs[n-1].to+1 == x.from {
		out.runs[n-1].to = x.to
	} else {
		out.runs = append(out.runs, x)
	}
	return out
}

// append appends the stored form: uvarints total and number of runs, then for each its
// distance to the end of the one before, and its length less one.
func (v moves) append(b []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, v.total), uint64(len(v.runs)))
	end := uint64(0)
	for _, run := range v.runs {
		b = binary.AppendUvarint(binary.AppendUvarint(b, run.from-end), run.to-run.from)
		end = run.to
	}
	return b
}

func (r *reader) moves() (v moves) {
	v.total = r.uint()
	end := uint64(0)
	for range r.count() {
		from := end + r.uint()
		end = from + r.uint()
		v.runs = append(v.runs, span{from, end})
	}
	return v
}
