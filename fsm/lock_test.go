package fsm

import (
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/queries"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// A page over many keys does not keep changes waiting for all of them: the state is
// locked for a part at a time, also where the keys were deleted.
func TestListingLocksTheStateInParts(t *testing.T) {
	const keys = 5 * queries.PartLooked
	for _, deleted := range []bool{false, true} {
		t.Run(fmt.Sprintf("deleted=%v", deleted), func(t *testing.T) {
			everywhere(t, func(t *testing.T, r *rig, move func()) {
				var all []turn.Key
				for i := range keys {
					all = append(all, turn.Key{Namespace: "0", Name: fmt.Sprintf("key%05d", i)})
					r.do(&turn.SetString{Key: all[i], Value: []byte("v")})
				}
				move()
				if deleted {
					r.do(&turn.Delete{Keys: all[1:]})
				}
				_, before := r.m.LockHolds()
				page := r.query(&turn.Sessions{Namespace: "0", Limit: 10, List: true, Type: turn.TypeHash})
				if _, after := r.m.LockHolds(); after.Count-before.Count < keys/queries.PartLooked {
					t.Errorf("a page over %d keys locked the state %d times", keys, after.Count-before.Count)
				}
				if len(page.Sessions) > 0 || page.Cursor != "" {
					t.Errorf("the page is %+v", page)
				}
			})
		})
	}
}

// What is left to sort while the state is locked is little, whatever else walks.
func TestOrderIsSettledBeforeTheStateIsLocked(t *testing.T) {
	r := newRig(t)
	var all []turn.Op
	for i := range 5 * maxUnsorted {
		all = append(all, &turn.SetString{Key: turn.Key{Namespace: "0", Name: fmt.Sprint(i)}, Value: []byte("v")})
	}
	r.apply(1, all...)
	o := &r.m.keys.Tables.Active.Order
	first := o.Walk() // another walk comes in between
	r.do(&turn.SetString{Key: turn.Key{Namespace: "0", Name: "one more"}, Value: []byte("v")})
	o.Settle(o.Fresh)
	if n := first.Len(); n != len(all) {
		t.Errorf("the walk through %d keys sees %d now", len(all), n)
	}
	if n := o.Walk().Len(); n != len(all)+1 {
		t.Errorf("there are %d keys, want %d", n, len(all)+1)
	}
	r.apply(1, all...) // known already
	r.flushWarm()
	for i := range all {
		all[i] = &turn.SetString{Key: turn.Key{Namespace: "1", Name: fmt.Sprint(i)}, Value: []byte("v")}
	}
	r.apply(1, all...)
	r.m.settleOrders()
	if n := r.m.keys.Tables.Active.Order.Unsorted(); n > maxUnsorted {
		t.Errorf("%d keys are left to sort", n)
	}
	if b, err := decodeBatch(encodeOps(t, &turn.Tx{Steps: []turn.Step{{Query: &turn.Sessions{}}}})); err != nil ||
		!b.listsKeys() {
		t.Errorf("a transaction that lists is not seen to: %v", err)
	}
}

func encodeOps(t *testing.T, ops ...turn.Op) []byte {
	t.Helper()
	var cmds []codec.Command
	for _, op := range ops {
		b, err := codec.EncodeOp(op)
		if err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, codec.Command{Op: b})
	}
	return codec.AppendEntry(nil, 1, cmds)
}
