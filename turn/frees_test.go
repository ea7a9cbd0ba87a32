package turn

import "testing"

// What makes room is admitted on a full disk, and nothing else is.
func TestFrees(t *testing.T) {
	for _, op := range []Op{&Pop{}, &PopFirst{}, &RemoveMessage{}, &Trim{}, &Clear{}, &Delete{}, &Erase{},
		&RemoveFields{}, &RemoveScores{}, &RemoveElements{}, &RemoveEntries{}, &TrimEntries{}, &Replace{},
		&Expire{HasTTL: true}, &Expire{HasAt: true}, &SetString{KeepValue: true, TTL: 1},
		&Tx{Steps: []Step{{Op: &Clear{}}, {Op: &RemoveMessage{}}}}} {
		if !Frees(op) {
			t.Errorf("%T %+v would be rejected on a full disk", op, op)
		}
	}
	for _, op := range []Op{&Append{}, &EditMessage{}, &Fork{}, &Expire{}, &SetString{TTL: 1},
		&SetString{KeepValue: true},
		&Replace{Messages: make([]NewMessage, 1)}, &Tx{Steps: []Step{{Op: &Clear{}}, {Op: &Append{}}}}} {
		if Frees(op) {
			t.Errorf("%T %+v would be admitted on a full disk", op, op)
		}
	}
}
