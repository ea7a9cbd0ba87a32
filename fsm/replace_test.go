package fsm

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/statedump"
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

func replaceOf(from uint64, ids ...string) *turn.Replace {
	o := &turn.Replace{Key: sessionA, From: from}
	for _, id := range ids {
		o.Messages = append(o.Messages, turn.NewMessage{ID: id, Data: []byte(id)})
	}
	return o
}

func appendIDs(ids ...string) *turn.Append {
	return &turn.Append{Key: sessionA, Messages: replaceOf(1, ids...).Messages}
}

// refuses applies an operation that must be refused, and change nothing.
func (r *rig) refuses(op turn.Op, kind turn.Kind) {
	r.t.Helper()
	before := r.texts(sessionA)
	if out := r.apply(1, op)[0]; out.Err == nil || out.Err.Kind != kind || r.texts(sessionA) != before {
		r.t.Fatalf("%+v: %+v, %v; it holds %q, before %q", op, out.Result, out.Err, r.texts(sessionA), before)
	}
}

// Messages that a replace brings may have ids that appends used, as when a list is saved that holds what is there
// already: it is no repeat of these appends. Repeats of the replace, and of the appends, change nothing.
func TestReplaceWithIDsOfAppends(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q1", "a1"))
		r.do(appendIDs("q2", "a2"))
		saved := replaceOf(1, "q1", "a1")
		move()
		took := r.do(saved)
		if took.Duplicate || took.Removed != 4 || r.texts(sessionA) != "5q1=q1 6a1=a1" {
			t.Fatalf("%+v; it holds %q", took, r.texts(sessionA))
		}
		regenerated := replaceOf(5, "q1", "a3")
		r.do(regenerated)
		r.do(appendIDs("q4"))
		move()
		want := "7q1=q1 8a3=a3 9q4=q4"
		for _, again := range []struct {
			op    turn.Op
			first uint64
		}{{saved, 5}, {regenerated, 7}, {appendIDs("q1", "a1"), 1}, {appendIDs("q2", "a2"), 3}, {appendIDs("q4"), 9},
			{appendIDs("q1"), 1}} {
			if out := r.do(again.op); !out.Duplicate || out.First != again.first || r.texts(sessionA) != want {
				t.Errorf("%+v again: %+v; it holds %q", again.op, out, r.texts(sessionA))
			}
		}
		r.refuses(replaceOf(9, "a3", "a4"), turn.Conflict) // a3 stays
		r.refuses(appendIDs("q1", "a4"), turn.Conflict)
		if out := r.do(replaceOf(8, "q4", "a2")); out.Duplicate || r.texts(sessionA) != "7q1=q1 10q4=q4 11a2=a2" {
			t.Errorf("%+v; it holds %q", out, r.texts(sessionA))
		}
	})
}

// A replace may bring an edited message as it is, also under the id that it has. The append that brought the first
// payload is still known, and hears of its own revision. Another payload is a reused id.
func TestReplaceWithAnEditedMessage(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		first := r.do(appendIDs("q", "a"))
		r.do(&turn.EditMessage{Key: sessionA, Message: byID("a"), Data: []byte("edited")})
		move()
		saved := replaceOf(2, "a")
		saved.Messages[0].Data = []byte("another")
		r.refuses(saved, turn.IDReused)
		saved.Messages[0].Data = []byte("edited")
		if out := r.do(saved); out.Removed != 1 || r.texts(sessionA) != "1q=q 3a=edited" {
			t.Fatalf("%+v; it holds %q", out, r.texts(sessionA))
		}
		move()
		if again := r.do(appendIDs("q", "a")); !again.Duplicate || again.First != 1 || again.Last != 2 ||
			again.Revision != first.Revision {
			t.Errorf("the append again: %+v, it was %+v", again, first)
		}
		r.do(&turn.EditMessage{Key: sessionA, Message: byID("a"), Data: []byte("again")})
		if again := r.do(saved); !again.Duplicate || r.texts(sessionA) != "1q=q 3a=again" {
			t.Errorf("the replace again: %+v; it holds %q", again, r.texts(sessionA))
		}
		saved.From, saved.Messages[0].Data = 3, []byte("another")
		r.refuses(saved, turn.IDReused)
	})
}

// A message that an edit of the list moved stays if its new place is before what a replace removes.
func TestReplaceWithTheIDOfAMovedMessage(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q", "a", "b", "c"))
		r.do(&turn.InsertElement{Key: sessionA, Pivot: []byte("c"), Data: []byte("new")})
		move()
		r.refuses(replaceOf(7, "c"), turn.Conflict)
		if out := r.do(replaceOf(6, "c")); out.Removed != 1 || r.texts(sessionA) != "1q=q 2a=a 3b=b 5=new 7c=c" {
			t.Errorf("%+v; it holds %q", out, r.texts(sessionA))
		}
	})
}

// A replace is known as long as the last of its messages is remembered.
func TestReplaceThatIsRememberedInPart(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q"))
		saved := replaceOf(1, "r1", "r2")
		first := r.do(saved)
		for i := range turn.IDWindow - 1 {
			r.do(appendIDs(fmt.Sprint("x", i)))
		}
		move()
		if again := r.do(saved); !again.Duplicate || again.First != first.First || again.Revision != first.Revision {
			t.Fatalf("%+v, it was %+v", again, first)
		}
		r.do(appendIDs("last"))
		move()
		r.do(saved)
		if got := r.texts(sessionA); got != "1028r1=r1 1029r2=r2" {
			t.Errorf("it holds %q", got)
		}
	})
}

// A replace with a part of the messages that an earlier one brought is another one, as is one with more of them.
func TestReplaceWithAPartOfAnEarlierOne(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("x"))
		for i, ids := range [][]string{{"a", "b", "c"}, {"a", "b"}, {"b", "c"}, {"b"}, {"z", "a", "b"}, {"c"},
			{"a", "b", "c", "d"}} {
			out := r.do(replaceOf(1, ids...))
			move()
			again := r.do(replaceOf(1, ids...))
			if out.Duplicate || out.Count != uint64(len(ids)) || !again.Duplicate || again.First != out.First ||
				again.Revision != out.Revision {
				t.Errorf("%d: %+v, and again %+v; it holds %q", i, out, again, r.texts(sessionA))
			}
		}
	})
}

// A replace under a condition that holds did not take place before, whatever an earlier one brought.
func TestReplaceBackToAnEarlierList(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q"))
		first := r.do(replaceOf(2, "a"))
		second := r.do(replaceOf(2, "b"))
		move()
		back := replaceOf(2, "a")
		back.Expect = &second.Revision
		took := r.do(back)
		if took.Duplicate || r.texts(sessionA) != "1q=q 4a=a" {
			t.Fatalf("%+v; it holds %q", took, r.texts(sessionA))
		}
		if again := r.do(back); !again.Duplicate || again.First != 4 || again.Revision != took.Revision {
			t.Errorf("again: %+v, it was %+v", again, took)
		}
		late := replaceOf(2, "a")
		late.Expect = &first.Revision
		if again := r.do(late); !again.Duplicate {
			t.Errorf("late: %+v", again)
		}
	})
}

// A fork has no replaces of its own yet.
func TestReplaceInAFork(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q"))
		r.do(replaceOf(1, "a", "b"))
		r.do(&turn.Fork{Key: sessionA, To: named("fork")})
		r.do(appendOf(named("fork"), "later", "later"))
		move()
		o := replaceOf(1, "a", "b")
		o.Key = named("fork")
		if out := r.do(o); out.Duplicate || r.texts(named("fork")) != "5a=a 6b=b" {
			t.Errorf("%+v; it holds %q", out, r.texts(named("fork")))
		}
	})
}

// The session in which a replace took place may have been deleted since.
func TestReplaceAgainAfterDeletion(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q", "a"))
		r.do(replaceOf(2, "b"))
		r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
		move()
		if again := r.do(replaceOf(2, "b")); !again.Duplicate || again.First != 3 {
			t.Errorf("%+v", again)
		}
		r.refuses(replaceOf(1, "q", "a"), turn.NotFound)
		r.do(appendIDs("c"))
		if again := r.do(replaceOf(2, "b")); !again.Duplicate || again.Count != 1 {
			t.Errorf("%+v", again)
		}
		if out := r.do(replaceOf(1, "a")); out.Removed != 1 || r.texts(sessionA) != "2a=a" {
			t.Errorf("%+v; it holds %q", out, r.texts(sessionA))
		}
	})
}

// What came before the fifth level does not tell who brought it: then a replace is a repeat also of an append, as
// before. One with other messages may still have their ids.
func TestReplaceBeforeTheFifthLevel(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level4)
	r.do(appendIDs("q1", "a1"))
	r.do(appendIDs("q2"))
	saved := replaceOf(3, "b")
	r.do(saved)
	r.refuses(replaceOf(2, "a1", "a3"), turn.Conflict)
	if out := r.do(replaceOf(1, "q1", "a1")); !out.Duplicate {
		t.Errorf("at the fourth level: %+v", out)
	}
	r.raise(turn.Level5)
	for _, again := range []*turn.Replace{saved, replaceOf(1, "q1", "a1")} {
		if out := r.do(again); !out.Duplicate || r.texts(sessionA) != "1q1=q1 2a1=a1 4b=b" {
			t.Errorf("at the fifth level: %+v; it holds %q", out, r.texts(sessionA))
		}
	}
	if out := r.do(replaceOf(2, "a1", "a3")); out.Duplicate || r.texts(sessionA) != "1q1=q1 5a1=a1 6a3=a3" {
		t.Errorf("%+v; it holds %q", out, r.texts(sessionA))
	}
}

// In a transaction, messages may have ids of what its replace removes. One that took place before is a Conflict: the
// transaction is another.
func TestReplaceWithKnownIDsInATransaction(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q1", "a1"))
		move()
		r.refuses(all("", replaceOf(2, "q1")), turn.Conflict)
		tx := all("t", replaceOf(2, "a1"), &turn.SetMetadata{Key: sessionA, Set: map[string]string{"k": "v"}})
		if r.do(tx); r.texts(sessionA) != "1q1=q1 3a1=a1" {
			t.Errorf("it holds %q", r.texts(sessionA))
		}
		move()
		if again := r.do(tx); !again.Duplicate || again.Steps[0].Result.First != 3 {
			t.Errorf("again: %+v", again)
		}
		r.refuses(all("", replaceOf(1, "a1")), turn.Conflict)
	})
}

// A replace whose condition does not hold is no repeat of one that took place before the revision that it expects:
// somebody else's change would seem to be its own.
func TestReplaceThatLosesIsNoRepeatOfAnOlderOne(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q"))
		r.do(replaceOf(2, "a"))
		second := r.do(replaceOf(2, "b"))
		r.do(appendIDs("other"))
		move()
		back := replaceOf(2, "a")
		back.Expect = &second.Revision
		r.refuses(back, turn.Conflict)
		r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
		made := r.do(appendIDs("new"))
		r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
		move()
		back.Expect = &made.Revision
		r.refuses(back, turn.Conflict)
	})
}

// Of equal replaces, the first one is repeated, or the first after the revision that is expected: a revision of later
// would let a condition pass although others wrote.
func TestReplaceAgainHearsOfTheFirstOne(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		q := r.do(appendIDs("q"))
		one := replaceOf(2, "a")
		one.Expect = &q.Revision
		first := r.do(one)
		between := r.do(replaceOf(2, "b"))
		back := replaceOf(2, "a")
		back.Expect = &between.Revision
		second := r.do(back)
		for range 2 {
			move()
			for op, want := range map[turn.Op]turn.Result{one: first, replaceOf(2, "a"): first, back: second} {
				if again := r.do(op); !again.Duplicate || again.First != want.First || again.Revision != want.Revision {
					t.Errorf("%+v again: %+v, it was %+v", op, again, want)
				}
			}
			r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
			r.do(appendIDs("later"))
		}
	})
}

// Messages may be put before the first one of a session: nothing is forgotten of what was before it.
func TestReplaceBeforeTheFirstMessage(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level4)
		r.do(appendIDs("q"))
		r.raise(turn.Level5)
		move()
		if r.do(replaceOf(1, "system", "q")); r.texts(sessionA) != "2system=system 3q=q" {
			t.Errorf("it holds %q", r.texts(sessionA))
		}
	})
}

// Messages without ids may be among those of a replace, which is known by all that it brought.
func TestReplaceWithSomeIDs(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q", "a"))
		saved := replaceOf(1, "q", "a", "none")
		saved.Messages[0].ID, saved.Messages[2].ID = "", ""
		took := r.do(saved)
		move()
		if again := r.do(saved); !again.Duplicate || again.First != 3 || again.Last != 5 ||
			again.Revision != took.Revision || r.texts(sessionA) != "3=q 4a=a 5=none" {
			t.Errorf("%+v, it was %+v; it holds %q", again, took, r.texts(sessionA))
		}
		other := replaceOf(1, "q", "a", "another")
		other.Messages[0].ID, other.Messages[2].ID = "", ""
		if out := r.do(other); out.Duplicate || r.texts(sessionA) != "6=q 7a=a 8=another" {
			t.Errorf("%+v; it holds %q", out, r.texts(sessionA))
		}
	})
}

// A transaction under the revision that a session has may go back to an earlier list.
func TestTransactionReplacesBackToAnEarlierList(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q"))
		r.do(replaceOf(2, "a"))
		second := r.do(replaceOf(2, "b"))
		move()
		tx := all("t", replaceOf(2, "a"))
		r.refuses(tx, turn.Conflict)
		tx.Conditions = []turn.Condition{{Key: sessionA, Is: turn.AtRevision, N: second.Revision}}
		if r.do(tx); r.texts(sessionA) != "1q=q 4a=a" {
			t.Errorf("it holds %q", r.texts(sessionA))
		}
	})
}

// An append whose ids a replace gave again, and of which the first message is no longer remembered, is refused: that
// the replace brought the same is not its answer.
func TestAppendThatIsForgottenAndWasReplaced(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		first := r.do(appendIDs("a", "b"))
		for i := range turn.IDWindow - 4 {
			r.do(appendIDs(fmt.Sprint("x", i)))
		}
		r.do(replaceOf(1, "a", "b"))
		move()
		if again := r.do(appendIDs("a", "b")); !again.Duplicate || again.Revision != first.Revision {
			t.Errorf("%+v, it was %+v", again, first)
		}
		r.do(appendIDs("last"))
		move()
		r.refuses(appendIDs("a", "b"), turn.Conflict)
	})
}

func pushIDs(ids ...string) *turn.PushOnce {
	return &turn.PushOnce{Key: sessionA, Messages: appendIDs(ids...).Messages}
}

// A push that comes again is known while the session keeps its messages, or those that a replace brought under their
// ids: it is neither refused nor stored twice.
func TestPushAgainAfterReplace(t *testing.T) {
	for name, c := range map[string]struct {
		again  *turn.PushOnce
		before []turn.Op
		then   string
	}{
		"of a part": {pushIDs("a", "b"), []turn.Op{pushIDs("a", "b"), replaceOf(2, "x", "b")}, "1a=a 3x=x 4b=b"},
		"of all":    {pushIDs("a", "b"), []turn.Op{pushIDs("a", "b"), replaceOf(1, "b", "x", "a")}, "3b=b 4x=x 5a=a"},
		"dropped by the retention": {pushIDs("a"), []turn.Op{
			&turn.Retain{Key: sessionA, Keep: turn.Retention{Messages: 1}},
			pushIDs("a"), pushIDs("b"), replaceOf(2, "a"), replaceOf(3, "c")}, "4c=c"},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, r *rig, move func()) {
				r.raise(turn.Level5)
				for _, op := range c.before {
					r.do(op)
				}
				move()
				if out := r.do(c.again); !out.Duplicate || out.First != 1 || r.texts(sessionA) != c.then {
					t.Errorf("%+v; it holds %q", out, r.texts(sessionA))
				}
				r.do(&turn.Rename{Key: sessionA, To: named("to")})
				move()
				if out := r.do(c.again); !out.Duplicate || out.First != 1 || r.texts(named("to")) != c.then {
					t.Errorf("renamed: %+v; it holds %q", out, r.texts(named("to")))
				}
			})
		})
	}
}

// A replace costs the same however often the id was in use that it brings.
func TestReplaceUnderAnIDOfManyReadsFewBlocks(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level5)
	r.do(appendIDs("q"))
	r.do(appendIDs("x"))
	for i := range turn.IDWindow {
		o := replaceOf(2, "x", fmt.Sprint("y", i))
		if out := r.do(o); out.Duplicate {
			t.Fatalf("%d: %+v", i, out)
		}
	}
	r.flush()
	r.restart()
	r.do(appendIDs("later")) // the window is there again
	before, _ := r.m.store.BlockReads()
	r.do(replaceOf(2, "x"))
	if now, _ := r.m.store.BlockReads(); now-before > 16 {
		t.Errorf("%d blocks were read", now-before)
	}
}

// An append or a replace that is sent again when its key holds another value by now did take place: that the type is
// wrong would deny it.
func TestCallsAgainToAKeyOfAnotherType(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		r.do(appendIDs("q", "a"))
		r.do(replaceOf(2, "b"))
		r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
		r.do(&turn.SetFields{Key: sessionA, Type: turn.TypeHash, Fields: []turn.Field{{Name: "f", Value: []byte("v")}}})
		move()
		for op, first := range map[turn.Op]uint64{appendIDs("q", "a"): 1, replaceOf(2, "b"): 3} {
			if again := r.do(op); !again.Duplicate || again.First != first {
				t.Errorf("%+v again: %+v", op, again)
			}
		}
		for _, op := range []turn.Op{appendIDs("new"), appendIDs("q", "new"), replaceOf(1, "new"),
			appendOf(sessionA, "", "x")} {
			if out := r.apply(1, op)[0]; out.Err == nil || out.Err.Kind != turn.WrongType {
				t.Errorf("%+v: %+v, %v", op, out.Result, out.Err)
			}
		}
	})
}

// Where an id was first is also known in a restored backup, whose incarnations are others, and under a key that the
// session was renamed to.
func TestIDsOfDeletedSessionsInRenewedAndRenamedOnes(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, r *rig){
		"renewed": func(t *testing.T, r *rig) {
			r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
			r.do(appendIDs("y"))
			r.do(replaceOf(1, "x"))
			var renewed bytes.Buffer
			to := statedump.Renewal{ClusterID: "n"}
			if _, err := statedump.Renew(&renewed, bytes.NewReader(r.dump()), to); err != nil {
				t.Fatal(err)
			}
			if err := r.m.Restore(&renewed); err != nil {
				t.Fatal(err)
			}
		},
		"renamed": func(_ *testing.T, r *rig) {
			b := named("b")
			r.do(&turn.Rename{Key: sessionA, To: b})
			r.do(&turn.Delete{Keys: []turn.Key{b}})
			r.do(appendOf(b, "y", "y"))
			o := replaceOf(1, "x")
			o.Key = b
			r.do(o)
			r.do(&turn.Rename{Key: b, To: sessionA})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.raise(turn.Level5)
			first := r.do(appendIDs("x"))
			change(t, r)
			if again := r.do(appendIDs("x")); !again.Duplicate || again.Revision != first.Revision {
				t.Errorf("%+v, it was %+v", again, first)
			}
		})
	}
}

// A condition on a key that held nothing does not tell that the transaction did not take place: what it made may have
// been deleted since.
func TestTransactionReplacesOnceInANewSession(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level5)
		tx := all("", &turn.SetMetadata{Key: sessionA, Set: map[string]string{"k": "v"}}, replaceOf(1, "x"))
		tx.Conditions = []turn.Condition{{Key: sessionA, Is: turn.AtRevision, N: 0}}
		r.do(tx)
		r.do(&turn.Delete{Keys: []turn.Key{sessionA}})
		move()
		r.refuses(tx, turn.Conflict)
	})
}

// Of equal replaces, the first one is repeated also if it is from before the fifth level.
func TestReplaceAgainHearsOfTheFirstOneBeforeTheFifthLevel(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		r.raise(turn.Level4)
		r.do(appendIDs("q"))
		first := r.do(replaceOf(2, "a", "b"))
		r.raise(turn.Level5)
		between := r.do(replaceOf(2, "z"))
		back := replaceOf(2, "a", "b")
		back.Expect = &between.Revision
		second := r.do(back)
		move()
		for op, want := range map[turn.Op]turn.Result{replaceOf(2, "a", "b"): first, back: second} {
			if again := r.do(op); !again.Duplicate || again.First != want.First || again.Revision != want.Revision {
				t.Errorf("%+v again: %+v, it was %+v", op, again, want)
			}
		}
	})
}

// What a replace looks at to know ids does not stay in memory: a small one may name many large messages.
func TestReplaceHoldsNoPayloadsThatItsIDsName(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level5)
	const n, size = 24, 4 << 20
	o := &turn.Replace{Key: sessionA, From: 1}
	for i := range n {
		r.do(appendOf(sessionA, fmt.Sprint("i", i), string(make([]byte, size))))
		r.log = nil
		o.Messages = append(o.Messages, turn.NewMessage{ID: fmt.Sprint("i", i), Data: []byte("x")})
	}
	r.flush()
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, peak := live(), uint64(0)
	ended := make(chan struct{})
	var out Outcome
	go func() {
		defer close(ended)
		out = r.apply(1, o)[0]
	}()
	for sampling := true; sampling; {
		select {
		case <-ended:
			sampling = false
		default:
			peak = max(peak, live())
		}
	}
	if out.Err == nil || out.Err.Kind != turn.IDReused { // all were looked at
		t.Errorf("%+v, %v", out.Result, out.Err)
	}
	if peak > before+n*size/2 {
		t.Errorf("a replace of %d small messages takes %d MiB", n, (peak-before)>>20)
	}
}
