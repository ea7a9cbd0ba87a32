package ids

import (
	"slices"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// An empty id is none: with ids made from it, all turns of a session would be the same one.
func TestEmptyTurnID(t *testing.T) {
	messages := make([]turn.NewMessage, 2)
	if err := Identify(WithTurn(t.Context(), ""), messages); err != nil || messages[0].ID+messages[1].ID != "" {
		t.Errorf("%+v, %v", messages, err)
	}
}

func TestIdentify(t *testing.T) {
	plain := t.Context()
	for name, c := range map[string]struct {
		got  func([]turn.NewMessage) error
		want []string
	}{
		"none": {func(ms []turn.NewMessage) error { return Identify(plain, ms) }, []string{"", ""}},
		"turn": {func(ms []turn.NewMessage) error { return Identify(WithTurn(plain, "t"), ms) },
			[]string{"t/0", "t/1"}},
		"each": {func(ms []turn.NewMessage) error {
			return Identify(WithMessages(WithTurn(plain, "t"), []string{"a", "b"}), ms)
		}, []string{"a", "b"}},
		"too few": {func(ms []turn.NewMessage) error { return Identify(WithMessages(plain, []string{"a"}), ms) }, nil},
	} {
		ms := make([]turn.NewMessage, 2)
		switch err := c.got(ms); {
		case c.want == nil && turn.KindOf(err) != turn.Invalid:
			t.Errorf("%s: %v", name, err)
		case c.want != nil && (err != nil || !slices.Equal([]string{ms[0].ID, ms[1].ID}, c.want)):
			t.Errorf("%s: %v, %v", name, ms, err)
		}
	}
}
