package transaction

import (
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// What the answers of a transaction count for decides what its later steps do, on nodes of all
// versions: it is part of the format.
func TestAnswersCountTheSameInAllVersions(t *testing.T) {
	ten := []byte("0123456789")
	for name, c := range map[string]struct {
		r    turn.Result
		want int
	}{
		"nothing":  {turn.Result{}, 0},
		"a value":  {turn.Result{Value: ten}, 10},
		"sessions": {turn.Result{Sessions: make([]turn.Session, 3)}, 1200},
		"messages": {turn.Result{Messages: []turn.Message{{ID: "abc", Data: ten}, {Data: ten}}}, 2*96 + 23},
		"elements": {turn.Result{Elements: []turn.Element{{Name: "abc", Value: ten}, {Name: "d"}}}, 2*80 + 14},
		"entries": {turn.Result{Entries: []turn.Entry{{Fields: []turn.Field{{Name: "abc", Value: ten}}},
			{Fields: []turn.Field{{Name: "d"}, {Name: "e"}}}}}, 3*80 + 15},
	} {
		if got := answerBytes(&c.r); got != c.want {
			t.Errorf("%s counts for %d bytes, %d in other versions", name, got, c.want)
		}
	}
}
