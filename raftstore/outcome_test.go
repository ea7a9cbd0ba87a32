package raftstore

import (
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// After an attempt with an unknown outcome, a refusal of the next one does not make
// the whole one that surely did not take place.
func TestRefusalAfterAnUnknownOutcome(t *testing.T) {
	for kind, want := range map[turn.Kind]turn.Kind{
		turn.Unavailable: turn.Unknown, turn.Overloaded: turn.Unknown, turn.Internal: turn.Unknown,
		turn.Unknown: turn.Unknown, turn.Exists: turn.Exists, turn.NotFound: turn.NotFound, turn.Invalid: turn.Invalid,
	} {
		kindIs(t, afterUnknown(turn.Errorf(kind, "no")), want)
	}
}
