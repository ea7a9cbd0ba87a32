package fsm

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// A bit that flips in the key of a block while the node runs must not have messages missing from
// a read, whether it begins before the block, in it or behind it: it fails, or shows them.
func TestReadsMissNoBlock(t *testing.T) {
	r, _ := repairable(t)
	data := string(bytes.Repeat([]byte("hello "), 1000))
	for i := range 6 {
		// too much for an inline bucket
		for _, name := range []string{"first", "before", sessionA.Name, "behind", "last", "more", "most"} {
			r.apply(1, appendOf(turn.Key{Namespace: sessionA.Namespace, Name: name}, fmt.Sprint(i), data))
		}
		r.flush()
	}
	r.restart()
	inc := r.query(&turn.Info{Key: sessionA}).Session.Incarnation
	queries := []*turn.Read{
		{From: turn.FromAfter}, {From: turn.FromLast}, {From: turn.FromAfter, Seq: 2}, {From: turn.FromAfter, Seq: 4},
		{From: turn.FromBefore, Seq: 5}, {From: turn.FromBefore, Seq: 3}, {From: turn.FromLast, MaxBytes: 1 << 20},
	}
	var want []turn.Result
	for _, q := range queries {
		q.Key = sessionA
		want = append(want, r.query(q))
	}
	places := r.blockKeys(inc)
	if len(places) < 3 {
		t.Fatalf("the session has %d blocks", len(places))
	}
	noticed := 0
	for _, place := range []int64{places[0], places[1], places[len(places)-1]} {
		for bit := range 8 * layout.BlockKeySize {
			for i, q := range queries {
				r.flip(place, bit)
				got, err := r.m.Query(q)
				r.flip(place, bit)
				if err != nil {
					noticed++
					r.restart()
				} else if !reflect.DeepEqual(got.Messages, want[i].Messages) {
					t.Fatalf("bit %d of the key at %d, %+v: %d messages, not %d", bit, place, q, len(got.Messages),
						len(want[i].Messages))
				}
			}
		}
	}
	if noticed == 0 {
		t.Error("no damage was noticed")
	}
}

// The same of the first key of a leaf, and of its copy in the branch above, which lead a search to
// one leaf or another. (TestFlushOverADamagedPage has a flush between.)
func TestReadsMissNoBlockOfAnyLeaf(t *testing.T) {
	base, leaves, branches := damageable(t)
	r := base.copyOf(t)
	noticed := 0
	for what, place := range map[string]int64{
		"first key": leaves[string(layout.BucketBlocks)][1][0], "branch": branches[string(layout.BucketBlocks)][1],
		"last of the branch": branches[string(layout.BucketBlocks)][2],
	} {
		for bit := 1; bit < 8*layout.BlockKeySize; bit += 3 {
			for i := range damagedSessions {
				r.flip(place, bit)
				err := r.expectMessages(damagedSession(i), damagedRounds, fmt.Sprintf("%s, bit %d", what, bit))
				r.flip(place, bit)
				if err != nil {
					noticed++
					_ = r.m.Close()
					r.open()
					r.m.cfg.OnDamage = func(error) {}
				}
			}
		}
	}
	if noticed == 0 {
		t.Error("no damage was noticed")
	}
	_ = r.m.Close()
}

// expectMessages requires that reads of a session show its messages, of which none was removed, or
// fail.
func (r *rig) expectMessages(key turn.Key, last int, what string) error {
	r.t.Helper()
	for _, q := range []*turn.Read{{From: turn.FromAfter}, {From: turn.FromAfter, Seq: 2},
		{From: turn.FromAfter, Seq: 4}, {From: turn.FromLast, Limit: last}} {
		q.Key = key
		got, err := r.m.Query(q)
		if err != nil {
			return err
		}
		if want := last - int(q.Seq); len(got.Messages) != want {
			r.t.Errorf("%s: %.10s from %d, %d: %d messages and no error, not %d", what, key.Name, q.From, q.Seq,
				len(got.Messages), want)
			return nil
		}
	}
	return nil
}

// blockKeys returns where the keys of a session's blocks are in the file of the store.
func (r *rig) blockKeys(inc uint64) (places []int64) {
	r.t.Helper()
	tx, err := r.db().Begin(false)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tx.Rollback()
	begin := r.db().Info().Data // of the mapped file
	c := tx.Bucket(layout.BucketBlocks).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if layout.OfIncarnation(k, inc) {
			places = append(places, int64(uintptr(unsafe.Pointer(&k[0]))-begin))
		}
	}
	return places
}

// flip flips a bit of the store's file, which is mapped.
func (r *rig) flip(place int64, bit int) {
	r.t.Helper()
	place += int64(bit / 8)
	b, err := readAt(r.db().Path(), place)
	if err == nil {
		err = writeAt(r.db().Path(), []byte{b ^ 1<<(bit%8)}, place)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}
