package fsm

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// hide takes all pairs of a bucket that belong to an incarnation away, as a damaged head of a page
// does: nothing of what is left is damaged.
func (r *rig) hide(bucket []byte, inc uint64) {
	r.t.Helper()
	hidden := 0
	for n := 0; ; n++ {
		k, _ := r.pair(bucket, n)
		if k == nil {
			break
		}
		if !bytes.HasPrefix(k, []byte(layout.ElementKey(inc, ""))) {
			continue
		}
		if err := r.db().Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Delete(k) }); err != nil {
			r.t.Fatal(err)
		}
		hidden++
		n = -1
	}
	if hidden == 0 {
		r.t.Fatalf("bucket %s has nothing of incarnation %d", bucket, inc)
	}
}

// steps returns an operation that has the answers of queries in an entry.
func steps(qs ...turn.Query) turn.Op {
	tx := &turn.Tx{}
	for _, q := range qs {
		tx.Steps = append(tx.Steps, turn.Step{Query: q})
	}
	return tx
}

// hiddenListOps are what comes upon the loss of all messages of sessionA, which are four.
func hiddenListOps() map[string]turn.Op {
	other := turn.Key{Namespace: "0", Name: "other"}
	return map[string]turn.Op{
		"set":            &turn.SetElement{Key: sessionA, Index: 1, Data: []byte("new")},
		"move":           &turn.MoveElement{Key: sessionA, To: other, From: turn.Head, On: turn.Tail},
		"rotate":         &turn.MoveElement{Key: sessionA, To: sessionA, From: turn.Tail, On: turn.Head},
		"pop":            &turn.Pop{Key: sessionA, From: turn.Head, Count: 1},
		"pop newest":     &turn.Pop{Key: sessionA, From: turn.Newest, Count: 2},
		"pop all":        &turn.PopFirst{Keys: []turn.Key{sessionA}, From: turn.Tail, Count: 9},
		"insert":         &turn.InsertElement{Key: sessionA, Pivot: []byte("none"), Data: []byte("new")},
		"remove":         &turn.RemoveElements{Key: sessionA, Data: []byte("none")},
		"edit by id":     &turn.EditMessage{Key: sessionA, Message: turn.MessageRef{ID: "none"}},
		"remove by id":   &turn.RemoveMessage{Key: sessionA, Message: turn.MessageRef{ID: "none"}},
		"keep last":      &turn.Trim{Key: sessionA, By: turn.KeepLast, N: 1},
		"drop first":     &turn.Trim{Key: sessionA, By: turn.KeepLast, N: 3},
		"trim to seq":    &turn.Trim{Key: sessionA, By: turn.BeforeSeq, N: 3},
		"trim to range":  &turn.Trim{Key: sessionA, By: turn.ListRange, Start: 1, Stop: 2},
		"replace":        &turn.Replace{Key: sessionA, From: 2},
		"fork":           &turn.Fork{Key: sessionA, To: other},
		"rename":         &turn.Rename{Key: sessionA, To: other},
		"range in entry": steps(&turn.List{Key: sessionA, Start: 0, Stop: -1}),
		"read in entry":  steps(&turn.Read{Key: sessionA, From: turn.FromLast}),
		"after in entry": steps(&turn.Read{Key: sessionA, From: turn.FromAfter}),
	}
}

// hiddenElementOps are what comes upon the loss of all elements of a type, which are four.
func hiddenElementOps() map[turn.Type]map[string]turn.Op {
	all := &turn.Entries{Key: sessionA, Max: turn.MaxEntryID()}
	back := &turn.Entries{Key: sessionA, Max: turn.MaxEntryID(), Reverse: true}
	rename := &turn.Rename{Key: sessionA, To: turn.Key{Namespace: "0", Name: "other"}}
	return map[turn.Type]map[string]turn.Op{
		turn.TypeHash: {"all": steps(&turn.AllFields{Key: sessionA, Type: turn.TypeHash}), "rename": rename},
		turn.TypeSet:  {"all": steps(&turn.AllFields{Key: sessionA, Type: turn.TypeSet}), "rename": rename},
		turn.TypeZSet: {
			"all":     steps(&turn.AllFields{Key: sessionA, Type: turn.TypeZSet}),
			"rename":  rename,
			"by rank": steps(&turn.Scores{Key: sessionA, By: turn.ByRank, Start: 0, Stop: 0}),
		},
		turn.TypeStream: {
			"all": steps(all), "back": steps(back), "rename": rename,
			"trim by length": &turn.TrimEntries{Key: sessionA, Trim: turn.StreamTrim{By: turn.ToLength, Length: 3}},
			"trim most":      &turn.TrimEntries{Key: sessionA, Trim: turn.StreamTrim{By: turn.ToLength, Length: 1}},
			"trim by id": &turn.TrimEntries{Key: sessionA,
				Trim: turn.StreamTrim{By: turn.BeforeID, ID: turn.EntryID{Time: 1, Seq: 3}}},
		},
	}
}

// expectHalt applies an operation that comes upon damage.
func (r *rig) expectHalt(told *int, op turn.Op) {
	r.t.Helper()
	r.apply(3, op)
	if err, halted := r.m.Damage(); !halted || *told != 1 || turn.KindOf(err) != turn.Corrupt {
		r.t.Errorf("damage %v, halted %t, told %d times", err, halted, *told)
	}
}

// Messages whose blocks are not found, although all that is near is whole, are damage to
// whatever entry counts on them: it halts the machine, and does not end the process, nor is it
// applied to what is left.
func TestEntryMissesMessages(t *testing.T) {
	for name, op := range hiddenListOps() {
		t.Run(name, func(t *testing.T) {
			r, told := repairable(t)
			for i := range 4 {
				r.apply(1, appendOf(sessionA, fmt.Sprint(i), "hello"))
			}
			r.flush()
			r.hide(layout.BucketBlocks, r.query(&turn.Info{Key: sessionA}).Session.Incarnation)
			r.expectHalt(told, op)
		})
	}
}

// So are elements.
func TestEntryMissesElements(t *testing.T) {
	for typ, ops := range hiddenElementOps() {
		for name, op := range ops {
			t.Run(fmt.Sprint(typ, " ", name), func(t *testing.T) {
				r, told := repairable(t)
				r.fillFour(typ)
				r.flush()
				r.hide(layout.BucketElements, r.query(&turn.Info{Key: sessionA}).Session.Incarnation)
				r.expectHalt(told, op)
			})
		}
	}
}

// fillFour gives sessionA four elements.
func (r *rig) fillFour(typ turn.Type) {
	r.t.Helper()
	for i := range uint64(4) {
		name := fmt.Sprint(i)
		var op turn.Op = &turn.SetFields{Key: sessionA, Type: typ, Fields: []turn.Field{{Name: name}}}
		switch typ {
		case turn.TypeZSet:
			op = &turn.SetScores{Key: sessionA, Members: []turn.Score{{Member: name, Score: float64(i)}}}
		case turn.TypeStream:
			op = &turn.AddEntry{Key: sessionA, ID: turn.EntryID{Time: 1, Seq: i + 1},
				Fields: []turn.Field{{Name: name}}}
		}
		if out := r.apply(1, op); out[0].Err != nil {
			r.t.Fatal(out[0].Err)
		}
	}
}

// A member whose place in the order of scores is not found has no rank.
func TestRankOfAMissingPlace(t *testing.T) {
	r, told := repairable(t)
	r.fillFour(turn.TypeZSet)
	r.flush()
	inc := r.query(&turn.Info{Key: sessionA}).Session.Incarnation
	tx, err := r.db().Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	from := []byte(layout.ElementKey(inc, scoreName("2")))
	value := bytes.Clone(tx.Bucket(layout.BucketElements).Get(from))
	_ = tx.Rollback()
	r.move(layout.BucketElements, from, []byte(layout.ElementKey(inc^1<<40, "")), value)
	if _, err := r.m.Query(&turn.Rank{Key: sessionA, Member: "1"}); err != nil {
		t.Fatal(err)
	}
	r.expectHalt(told, steps(&turn.Rank{Key: sessionA, Member: "2"}))
}

// A query that comes to less than a head counts fails, but halts nothing: the state may be the
// same on all nodes. The scrub, which begins soon then, finds what is damaged.
func TestQueryMissesMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, told := repairable(t)
		for i := range 4 {
			r.apply(1, appendOf(sessionA, fmt.Sprint(i), "hello"))
		}
		r.apply(1, setOf(turn.Key{Namespace: "0", Name: "set"}, "member"))
		r.flush()
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()
		go r.m.scrubs(ctx)
		time.Sleep(scrubRetryMost + time.Minute) // after the first scrub
		r.hide(layout.BucketBlocks, r.query(&turn.Info{Key: sessionA}).Session.Incarnation)
		fails := func() {
			t.Helper()
			for _, q := range []turn.Query{&turn.Read{Key: sessionA}, &turn.List{Key: sessionA, Stop: -1}} {
				if _, err := r.m.Query(q); turn.KindOf(err) != turn.Corrupt {
					t.Errorf("%T: %v", q, err)
				}
			}
			time.Sleep(scrubRetryMost + time.Minute)
		}
		for range 3 { // the scrub finds nothing
			fails()
			if err, halted := r.m.Damage(); err != nil || halted || *told > 0 {
				t.Fatalf("damage %v, halted %t, told %d times", err, halted, *told)
			}
		}
		k, v := r.pair(layout.BucketElements, 0)
		v[len(v)-1] ^= 1
		r.move(layout.BucketElements, k, k, v)
		fails()
		if err, halted := r.m.Damage(); !halted || *told != 1 {
			t.Errorf("after a scrub: damage %v, halted %t, told %d times", err, halted, *told)
		}
	})
}
