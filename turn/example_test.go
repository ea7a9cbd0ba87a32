package turn_test

import (
	"fmt"

	"github.com/turnlog/turnlog/turn"
)

// An operation is checked against limits before it is proposed. The kind of an error says what a
// client can do about it.
func ExampleAppend_Validate() {
	limits := turn.DefaultLimits()
	limits.MessageBytes = 10
	op := turn.Append{
		Key:      turn.Key{Namespace: turn.DefaultNamespace, Name: "alice"},
		Messages: []turn.NewMessage{{Data: []byte("longer than ten bytes")}},
	}
	err := op.Validate(limits)
	fmt.Println(turn.KindOf(err), turn.Is(err, turn.TooLarge))

	op.Messages[0].Data = []byte("short")
	fmt.Println(op.Validate(limits))
	// Output:
	// TOO_LARGE true
	// <nil>
}

// A kind survives wrapping.
func ExampleIs() {
	err := fmt.Errorf("save the turn: %w", turn.Errorf(turn.Conflict, "the session is at revision 7"))
	switch {
	case turn.Is(err, turn.Conflict):
		fmt.Println("read again, then retry")
	case turn.Is(err, turn.Unknown):
		fmt.Println("retry with the same ids")
	}
	// Output: read again, then retry
}
