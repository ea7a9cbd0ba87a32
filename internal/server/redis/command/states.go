package command

import "math"

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
