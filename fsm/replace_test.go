package fsm

import (
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// A replacement that is sent again is recognised by its ids before its condition is looked
// at, which the first attempt has made untrue.
func TestReplaceSentAgain(t *testing.T) {
	r := newRig(t)
	first := r.apply(1, appendOf(sessionA, "", "old"))[0].Result
	replace := &turn.Replace{Key: sessionA, From: 1, Messages: []turn.NewMessage{{ID: "id", Data: []byte("new")}},
		Expect: &first.Revision}
	took := r.apply(1, replace)[0]
	if took.Err != nil || took.Result.Removed != 1 {
		t.Fatalf("%+v, %v", took.Result, took.Err)
	}
	again := r.apply(1, replace)[0]
	if again.Err != nil || !again.Result.Duplicate || again.Result.First != took.Result.First ||
		again.Result.Revision != took.Result.Revision {
		t.Errorf("sent again: %+v, %v; it was %+v", again.Result, again.Err, took.Result)
	}
	replace.Messages[0].ID = "other"
	if out := r.apply(1, replace)[0]; out.Err == nil || out.Err.Kind != turn.Conflict {
		t.Errorf("another one under the same condition: %+v, %v", out.Result, out.Err)
	}
}

// What is written to a session renews a deadline that slides, whether it is appended or
// replaces messages.
func TestReplaceRenewsASlidingDeadline(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "", "x"), &turn.Expire{Key: sessionA, TTL: 100, HasTTL: true, Slide: true})
	deadline := func() int64 { return r.query(&turn.Info{Key: sessionA}).Session.ExpiresAt }
	for i, op := range []turn.Op{
		&turn.Replace{Key: sessionA, From: 1, Messages: []turn.NewMessage{{Data: []byte("y")}}},
		appendOf(sessionA, "", "z"),
		&turn.Replace{Key: sessionA, From: 2},
	} {
		now := int64(50 * (i + 1))
		if out := r.apply(now, op)[0]; out.Err != nil || deadline() != now+100 {
			t.Errorf("%T at %d: the deadline is %d; %v", op, now, deadline(), out.Err)
		}
	}
}

// What is cleared is gone from the blocks, too, to the last message.
func TestClearedBlocksAreEmpty(t *testing.T) {
	r := newRig(t)
	for range 3 { // each with a block of its own
		r.apply(1, appendOf(sessionA, "", string(make([]byte, layout.BlockBytes))))
	}
	r.flush()
	r.apply(1, &turn.Clear{Key: sessionA})
	r.flush()
	tx, err := r.m.store.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	if n := tx.Bucket(layout.BucketBlocks).Stats().KeyN; n != 0 {
		t.Errorf("%d blocks of a session that was cleared are stored", n)
	}
}
