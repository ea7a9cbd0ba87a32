package members

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/turnlog/turnlog/internal/group"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/turn"
)

// After an attempt with an unknown outcome, a refusal of the next one does not make
// the whole one that surely did not take place.
func TestRefusalAfterAnUnknownOutcome(t *testing.T) {
	for kind, want := range map[turn.Kind]turn.Kind{
		turn.Unavailable: turn.Unknown, turn.Overloaded: turn.Unknown, turn.Internal: turn.Unknown,
		turn.Unknown: turn.Unknown, turn.Exists: turn.Exists, turn.NotFound: turn.NotFound, turn.Invalid: turn.Invalid,
	} {
		wantKind(t, afterUnknown(turn.Errorf(kind, "no")), want)
	}
}

// A change whose outcome is unknown is attempted again. What comes of it then is what the caller is told: that
// it took place, if there is nothing left to do, and never that it did not, unless that is certain.
func TestChangesAreRepeated(t *testing.T) {
	const done = turn.Kind(255)
	add, remove := requests.Change{Kind: requests.Add}, requests.Change{Kind: requests.Remove}
	for name, x := range map[string]struct {
		change   requests.Change
		attempts []turn.Kind
		want     turn.Kind
	}{
		"made at once":                     {add, []turn.Kind{done}, done},
		"refused at once":                  {add, []turn.Kind{turn.Unavailable}, turn.Unavailable},
		"a member before":                  {add, []turn.Kind{turn.Exists}, turn.Exists},
		"no member before":                 {remove, []turn.Kind{turn.NotFound}, turn.NotFound},
		"made again":                       {add, []turn.Kind{turn.Unknown, turn.Unknown, done}, done},
		"added by the first":               {add, []turn.Kind{turn.Unknown, turn.Exists}, done},
		"removed by the first":             {remove, []turn.Kind{turn.Unknown, turn.NotFound}, done},
		"removed, and there is another":    {remove, []turn.Kind{turn.Unknown, turn.Exists}, turn.Exists},
		"not added, perhaps by the first":  {add, []turn.Kind{turn.Unknown, turn.NotFound}, turn.NotFound},
		"refused after an unknown outcome": {add, []turn.Kind{turn.Unknown, turn.Unavailable, done}, done},
		"invalid after an unknown outcome": {add, []turn.Kind{turn.Unknown, turn.Invalid}, turn.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mc := New(Config{Lead: group.NewKnownLeader("n1")})
				made := 0
				err := mc.repeat(t.Context(), x.change, func() error {
					if made++; made > len(x.attempts) || x.attempts[made-1] == done {
						return nil
					}
					return turn.Errorf(x.attempts[made-1], "no")
				})
				if x.want == done && err != nil || x.want != done && turn.KindOf(err) != x.want ||
					made != len(x.attempts) {
					t.Errorf("the change ends with %v after %d attempts", err, made)
				}
			})
		})
	}
}

// A caller that gives up after an attempt with an unknown outcome is not told that nothing was changed.
func TestChangeThatIsGivenUpIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mc := New(Config{Lead: group.NewKnownLeader("n1")})
		ctx, cancel := context.WithCancel(t.Context())
		made := 0
		wantKind(t, mc.repeat(ctx, requests.Change{Kind: requests.Add}, func() error {
			if made++; made == 1 {
				return turn.Errorf(turn.Unknown, "no")
			}
			cancel()
			return turn.Errorf(turn.Unavailable, "no")
		}), turn.Unknown)
	})
}

func wantKind(t *testing.T, err error, want turn.Kind) {
	t.Helper()
	if got := turn.KindOf(err); got != want {
		t.Errorf("the error is of kind %v, not %v: %v", got, want, err)
	}
}
