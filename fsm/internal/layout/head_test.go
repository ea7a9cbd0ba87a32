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
	moved, bounded := list(), list()
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
