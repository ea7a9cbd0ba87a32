package layout

import (
	"bytes"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// list is a head of a list with something in each field but for moves.
func list() Head {
	return Head{
		Inc: 300, Type: turn.TypeList, Created: 1_000, Updated: 2_000, Revision: 7, First: 3, Last: 200, LastID: 150,
		Low: [2]uint64{3, 4}, High: [2]uint64{200, 200}, Live: [2]uint64{100, 50}, Bytes: 1 << 20,
		Deadline: 9_000, Slide: 500, Scheduled: 8_000, TombstonesUntil: 3_000,
		Entry: turn.EntryID{Time: 5, Seq: 6}, Meta: map[string]string{"k": "v", "a": ""},
	}
}

// The bytes of a head are the same in all versions: nodes compare the hashes of their states.
func TestFormOfHeads(t *testing.T) {
	moved, bounded, shortened, turns, calls := list(), list(), list(), list(), list()
	calls.Open, calls.Dropped = []OpenCall{{Seq: 190, ID: 0x102}, {Seq: 200}}, Spans{{10, 19}}
	shortened.Retention = turn.Retention{Messages: 300}
	turns.Labelled, turns.Retention, turns.Turns = true, turn.Retention{Turns: 3}, []uint64{10, 150, 200}
	moved.Moves = Moves{Total: 12, Runs: Spans{{10, 19}, {30, 31}}}
	bounded.High = [2]uint64{190, 200}
	const plain = "01ac0201e807d00f0703c801960103046432808040a846f403c03eb817050602016100016b0176"
	for name, c := range map[string]struct {
		head Head
		want string
	}{
		"plain":      {list(), plain},
		"with moves": {moved, plain + "0c020a090b01"},
		"bounded":    {bounded, plain + "00000a00"},
		"shortened":  {shortened, plain + "0000000002ac020000"},
		"turns":      {turns, plain + "0000000003000303" + "0a8c0132"},
		"calls":      {calls, plain + "000000000c" + "020a0201000000000000" + "000000000000000000" + "010a09"},
	} {
		b := c.head.Append(nil)
		if got := hex.EncodeToString(b); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		var back Head
		if err := back.Decode(b); err != nil || !reflect.DeepEqual(back, c.head) {
			t.Errorf("%s: %+v, %v", name, back, err)
		}
		whole := []int{len(plain) / 2, len(b) - len("\x0a\x00")} // without what may be left out
		if c.head.Retention != (turn.Retention{}) || len(c.head.Open) > 0 {
			whole = []int{len(plain) / 2, len(plain)/2 + 2, len(plain)/2 + 4}
		}
		for n := range b {
			if err := new(Head).Decode(b[:n]); err == nil && !slices.Contains(whole, n) {
				t.Errorf("%s: %d of its %d bytes are a head", name, n, len(b))
			}
		}
	}
}

// What is decoded of any bytes is encoded to bytes that mean the same.
func FuzzDecodeHead(f *testing.F) {
	h := list()
	f.Add(h.Append(nil))
	h.Moves, h.High[0] = Moves{Total: 12, Runs: Spans{{10, 19}}}, 190
	f.Add(h.Append(nil))
	h.Retention, h.Turns = turn.Retention{Turns: 3}, []uint64{10, 150}
	f.Add(h.Append(nil))
	h.Open, h.Dropped = []OpenCall{{Seq: 190, ID: 7}}, Spans{{10, 19}}
	f.Add(h.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second Head
		if first.Decode(b) != nil {
			return
		}
		stored := first.Append(nil)
		if err := second.Decode(stored); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(second.Append(nil), stored) || !maps.Equal(first.Meta, second.Meta) {
			t.Errorf("%+v became %+v", first, second)
		}
	})
}
