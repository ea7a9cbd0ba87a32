package command

import (
	"errors"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

func TestErrorTexts(t *testing.T) {
	for _, tt := range []struct {
		err           error
		redis, native string
	}{
		{turn.Errorf(turn.Unavailable, "no leader"), "LOADING no leader; nothing was changed, try again",
			"UNAVAILABLE no leader"},
		{turn.Errorf(turn.Unknown, "lost"),
			"UNKNOWNRESULT the write may or may not have been applied; read before sending it again (lost)",
			"UNKNOWN_OUTCOME lost"},
		{turn.Errorf(turn.Overloaded, "full"), "OVERLOADED full", "OVERLOADED full"},
		{turn.Errorf(turn.ReadOnly, "disk full"), "MISCONF disk full", "READ_ONLY disk full"},
		{turn.Errorf(turn.WrongType, "x"), string(ErrWrongType), "WRONG_TYPE x"},
		{turn.Errorf(turn.Invalid, "x"), "ERR x", "INVALID x"},
		{turn.Errorf(turn.TooLarge, "x"), "TOO_LARGE x", "TOO_LARGE x"},
		{&turn.Error{Kind: turn.Conflict, Message: "moved on", Revision: 17}, "CONFLICT moved on",
			"CONFLICT revision=17 moved on"},
		{turn.Errorf(turn.Unauthorized, "x"), "NOAUTH Authentication required.", "UNAUTHORIZED x"},
		{turn.Errorf(turn.Forbidden, "x"), "NOPERM x", "FORBIDDEN x"},
		{errors.New("x"), "INTERNAL x", "INTERNAL x"},
		{ErrSyntax, "ERR syntax error", "ERR syntax error"},
	} {
		if got := ErrorText(tt.err, false); got != tt.redis {
			t.Errorf("%v: %s", tt.err, got)
		}
		if got := ErrorText(tt.err, true); got != tt.native {
			t.Errorf("%v, native: %s", tt.err, got)
		}
	}
}

// Half a deletion is never answered as if nothing had been done.
func TestPartly(t *testing.T) {
	err := turn.Errorf(turn.Unavailable, "no leader")
	if k := turn.KindOf(partly(err, 0)); k != turn.Unavailable {
		t.Errorf("after nothing: %v", k)
	}
	if k := turn.KindOf(partly(err, 5)); k != turn.Unknown {
		t.Errorf("after five: %v", k)
	}
}
