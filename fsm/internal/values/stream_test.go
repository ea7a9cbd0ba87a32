package values

import (
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

func FuzzDecodeEntry(f *testing.F) {
	f.Add(encodeEntry([]turn.Field{{Name: "a", Value: []byte("x")}, {}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		name := layout.EntryName(turn.EntryID{Time: 1, Seq: 2})
		e, err := decodeEntry(name, b)
		if err != nil {
			return
		}
		again, err := decodeEntry(name, encodeEntry(e.Fields))
		if err != nil || len(again.Fields) != len(e.Fields) || again.ID != e.ID {
			t.Fatalf("second round: %+v, %v, want %+v", again, err, e)
		}
	})
}
