package propose

import (
	"testing"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
)

// After a batch that was refused, those behind it in its session are not even looked at.
func TestBatchesOutOfTurnAreNotVetted(t *testing.T) {
	in := NewInbox(nil, func([]codec.Command) (Vetted, *Failure) {
		t.Error("the commands of a batch are decoded")
		return Vetted{}, nil
	})
	var got *Failure
	in.Take("n2", Forwarded{Origin: 7, Session: 1, Place: 3, Commands: []codec.Command{{Origin: 7, Number: 4}}}, 20,
		func(_ []fsm.Outcome, f *Failure) { got = f })
	if got == nil || !got.Definite {
		t.Errorf("the batch ends with %+v", got)
	}
}
