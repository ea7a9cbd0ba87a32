package command

import (
	"context"
	"math"

	"github.com/turnlog/turnlog/turn"
)

// States are the log indexes of the oldest and the newest state that an answer is from.
type States struct{ Oldest, Newest uint64 }

// UnknownStates returns those of an answer that does not tell.
func UnknownStates() States { return States{0, math.MaxUint64} }

func (s States) with(index uint64) States {
	if s == (States{}) {
		return States{index, index}
	}
	return States{min(s.Oldest, index), max(s.Newest, index)}
}

// Ask does the queries of a, each from a state that includes those before it.
// That a key holds another type is for the answer to deal with; other errors
// are final.
func (b *Backend) Ask(ctx context.Context, a *Read) (_ Reply, seen States, _ error) {
	var one [1]Outcome
	os := one[:0]
	index, left := uint64(0), b.engine.Limits().ReadBytes
	for _, q := range a.Queries {
		r, err := b.Since(ctx, index, q)
		if err != nil && turn.KindOf(err) != turn.WrongType {
			return nil, States{}, err
		}
		if seen = seen.with(r.Index); err != nil { // which does not tell of what state
			seen = UnknownStates()
		}
		if left -= size(&r); left < 0 && len(os) > 0 {
			return nil, seen, b.tooLong()
		}
		os = append(os, Outcome{r, err})
		index = max(index, r.Index)
	}
	r, err := a.Answer(os)
	return r, seen, err
}

// size is how many bytes of values an answer has that is one of several.
func size(r *turn.Result) int {
	n := len(r.Value)
	for i := range r.Entries {
		for _, f := range r.Entries[i].Fields {
			n += len(f.Name) + len(f.Value)
		}
	}
	return n
}

// tooLong is the error of a request whose answers are too long together.
func (b *Backend) tooLong() error {
	return turn.Errorf(turn.TooLarge, "the answer would have more than %d bytes; ask for fewer keys, or for parts",
		b.engine.Limits().ReadBytes)
}
