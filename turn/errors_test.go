package turn

import (
	"errors"
	"fmt"
	"testing"
)

// KindOf has an answer for every error, and for none.
func TestKindOf(t *testing.T) {
	var noError *Error
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{nil, None},
		{noError, None},
		{errors.New("x"), Internal},
		{Errorf(Conflict, "x"), Conflict},
		{fmt.Errorf("x: %w", Errorf(Unknown, "y")), Unknown},
	} {
		if got := KindOf(c.err); got != c.want {
			t.Errorf("%v is of kind %v, and should be of %v", c.err, got, c.want)
		}
	}
	if e := AsError(nil); e != nil {
		t.Errorf("no error became %v", e)
	}
	for k := range Kind(len(kinds)) {
		if k == None || k.String() == None.String() {
			t.Errorf("kind %d passes for none", k)
		}
	}
	if k, ok := ParseKind(None.String()); ok {
		t.Errorf("no error is parsed as %v", k)
	}
}
