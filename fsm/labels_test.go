package fsm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func labelOf(name, value string) turn.Label { return turn.Label{Name: name, Value: value} }

// setLabel sets a label of a session.
func setLabel(k turn.Key, name, value string) turn.Op {
	return &turn.SetMetadata{Key: k, Set: map[string]string{turn.LabelPrefix + name: value}}
}

// listed returns the names of the sessions that carry labels, page by page.
func (r *rig) listed(limit int, labels ...turn.Label) (names []string) {
	r.t.Helper()
	q := turn.Sessions{Namespace: "0", Limit: limit, Labels: labels}
	for {
		page := r.query(&q)
		for i := range page.Sessions {
			names = append(names, page.Sessions[i].Key.Name)
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return names
		}
	}
}

func named(name string) turn.Key { return turn.Key{Namespace: "0", Name: name} }

// Sessions are listed by the order of their changes, wherever the state is read from; what ends a
// session, or takes its label, takes it off the list.
func TestLabelsFollowTheSession(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		want := func(names ...string) {
			t.Helper()
			move()
			if got := r.listed(2, labelOf("user", "u1")); !slices.Equal(got, names) {
				t.Errorf("listed are %q, want %q", got, names)
			}
		}
		r.raise(turn.Level2)
		for _, name := range []string{"a", "b", "c", "d"} {
			r.do(&turn.Append{Key: named(name), Messages: []turn.NewMessage{{Data: []byte("x")}},
				Set: map[string]string{"label.user": "u1", "label.run": name}})
		}
		r.do(setLabel(turn.Key{Namespace: "1", Name: "other"}, "user", "u1"))
		want("d", "c", "b", "a")
		r.do(appendOf(named("b"), "1", "more"))
		want("b", "d", "c", "a")
		r.do(&turn.Clear{Key: named("a")})
		r.do(&turn.Expire{Key: named("c"), HasTTL: true, TTL: 100})
		want("c", "a", "b", "d")
		r.do(&turn.Delete{Keys: []turn.Key{named("d")}})
		want("c", "a", "b")
		r.apply(1000)
		want("a", "b")
		r.do(setLabel(named("b"), "user", "u2"))
		want("a")
		r.do(&turn.Fork{Key: named("a"), To: named("e")})
		want("e", "a")
		r.do(&turn.SetMetadata{Key: named("a"), Unset: []string{"label.user"}})
		want("e")
		if got := r.listed(9, labelOf("user", "u1"), labelOf("run", "a")); !slices.Equal(got, []string{"e"}) {
			t.Errorf("by two labels: %q", got)
		}
		r.do(&turn.Erase{Namespace: "0", Prefix: "e", Limit: 10})
		want()
		if n := r.m.Keys(); n != 1 { // b; the other ones hold no messages
			t.Errorf("the machine counts %d keys", n)
		}
	})
}

// Before the level there is no index, so that nodes of older versions come to the same state; a session
// enters it with its first change after that.
func TestLabelsBeforeTheirLevel(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level1)
	r.do(setLabel(named("a"), "user", "u1"))
	if h, _ := r.m.keys.Head("0\x00a"); h.Labelled || r.m.keys.CountIn(layout.LabelsNamespace) != 0 {
		t.Error("the index has a session of the first level")
	}
	r.raise(turn.Level2)
	if got := r.listed(9, labelOf("user", "u1")); len(got) != 0 {
		t.Errorf("listed before it changed: %q", got)
	}
	r.do(appendOf(named("a"), "1", "x"))
	if got := r.listed(9, labelOf("user", "u1")); len(got) != 1 {
		t.Errorf("listed after a change: %q", got)
	}
}

// Pages are bounded by what is looked at, too, and the list is whole nevertheless.
func TestLabelsOfManySessions(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	const n, few = 2*turn.LabelPage + 100, 7
	var ops []turn.Op
	for i := range n {
		ops = append(ops, setLabel(named(fmt.Sprintf("s%05d", i)), "user", "u1"))
	}
	r.apply(1, ops...)
	r.flush()
	ops = ops[:0]
	for i := range few {
		ops = append(ops, setLabel(named(fmt.Sprintf("s%05d", i*300)), "kind", "k"))
	}
	r.apply(2, ops...)
	if got := r.listed(100, labelOf("user", "u1")); len(got) != n || got[0] != "s01800" || got[few] != "s02099" {
		t.Errorf("%d sessions are listed, the first of them %q", len(got), got[:min(len(got), few+1)])
	}
	q := turn.Sessions{Namespace: "0", Limit: 10, Labels: []turn.Label{labelOf("user", "u1")}, Prefix: "s00"}
	first := r.query(&q)
	if len(first.Sessions) != 4 || first.Cursor == "" {
		t.Errorf("of a prefix that few have, the first page has %d sessions, and the cursor %q", len(first.Sessions),
			first.Cursor)
	}
	found := 0
	for more := true; more; more = q.Cursor != "" {
		page := r.query(&q)
		found, q.Cursor = found+len(page.Sessions), page.Cursor
	}
	if found != 1000 {
		t.Errorf("of the prefix, %d sessions are listed", found)
	}
}

// A page is the last one if only sessions are left that the list does not have: a user with prefixes would learn
// that others' sessions carry a label.
func TestLastPageOfLabels(t *testing.T) {
	for name, q := range map[string]turn.Sessions{
		"prefixes of a user": {Labels: []turn.Label{labelOf("user", "u1")}, Prefixes: []string{"mine/", "ours/"}},
		"prefix":             {Labels: []turn.Label{labelOf("user", "u1")}, Prefix: "mine/"},
		"two labels":         {Labels: []turn.Label{labelOf("user", "u1"), labelOf("kind", "k")}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.raise(turn.Level2)
			for _, other := range []string{"theirs/1", "theirs/2"} {
				r.do(setLabel(named(other), "user", "u1"))
			}
			for _, mine := range []string{"mine/1", "mine/2"} {
				r.do(setLabel(named(mine), "kind", "k"))
				r.do(setLabel(named(mine), "user", "u1"))
			}
			q.Namespace, q.Limit = "0", 1
			first := r.query(&q)
			if len(first.Sessions) != 1 || first.Sessions[0].Key.Name != "mine/2" || first.Cursor == "" {
				t.Fatalf("the first page is %+v, with the cursor %q", first.Sessions, first.Cursor)
			}
			q.Cursor = first.Cursor
			last := r.query(&q)
			if len(last.Sessions) != 1 || last.Sessions[0].Key.Name != "mine/1" || last.Cursor != "" {
				t.Errorf("the last page is %+v, with the cursor %q", last.Sessions, last.Cursor)
			}
			r.do(&turn.Delete{Keys: []turn.Key{named("mine/1"), named("mine/2")}})
			if q.Cursor = ""; len(r.query(&q).Sessions) != 0 || r.query(&q).Cursor != "" {
				t.Errorf("without sessions of the list, it is %+v", r.query(&q))
			}
		})
	}
}

// A list is of one moment, also in the midst of a transaction.
func TestLabelsWithinATransaction(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	r.do(setLabel(named("a"), "user", "u1"))
	r.flush()
	q := &turn.Sessions{Namespace: "0", Limit: 9, Labels: []turn.Label{labelOf("user", "u1")}}
	res := r.do(&turn.Tx{Steps: []turn.Step{{Op: setLabel(named("b"), "user", "u1")}, {Query: q},
		{Op: &turn.Delete{Keys: []turn.Key{named("a")}}}, {Query: q}}})
	for i, want := range map[int]int{1: 2, 3: 1} {
		if got := res.Steps[i]; got.Err != nil || len(got.Result.Sessions) != want {
			t.Errorf("step %d lists %+v, want %d", i+1, got, want)
		}
	}
}

// The number of labels is bounded, also in transactions that take place as a whole: what they leave out
// is refused before anything takes place.
func TestTooManyLabels(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	set := make(map[string]string)
	for i := range turn.MaxLabels {
		set[fmt.Sprint("label.", i)] = "x"
	}
	r.do(&turn.SetMetadata{Key: sessionA, Set: set})
	one := setLabel(sessionA, "more", "x")
	for name, op := range map[string]turn.Op{
		"set": one,
		"append": &turn.Append{Key: sessionA, Messages: []turn.NewMessage{{Data: []byte("x")}},
			Set: map[string]string{"label.more": "x"}},
		"transaction": &turn.Tx{All: true, Steps: []turn.Step{{Op: appendOf(sessionA, "1", "x")}, {Op: one}}},
	} {
		if out := r.apply(1, op)[0]; out.Err == nil || out.Err.Kind != turn.TooLarge {
			t.Errorf("%s: %v", name, out.Err)
		}
	}
	r.do(&turn.SetMetadata{Key: sessionA, Set: map[string]string{"label.more": "x"}, Unset: []string{"label.0"}})
}

// A session that had too many labels before there was a bound can still be changed, as long as none is added.
func TestMoreLabelsThanAllowedOfAnEarlierLevel(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level1)
	set := make(map[string]string)
	for i := range turn.MaxLabels + 2 {
		set[fmt.Sprint("label.", i)] = "x"
	}
	r.do(&turn.SetMetadata{Key: sessionA, Set: set})
	r.raise(turn.Level2)
	r.do(&turn.SetMetadata{Key: sessionA, Set: map[string]string{"title": "t"}})
	r.do(&turn.SetMetadata{Key: sessionA, Set: map[string]string{"label.more": "x"}, Unset: []string{"label.0"}})
	r.do(&turn.Tx{All: true, Steps: []turn.Step{{Op: appendOf(sessionA, "1", "x")},
		{Op: &turn.SetMetadata{Key: sessionA, Set: map[string]string{"label.1": "y"}, Unset: []string{"label.2"}}}}})
	for name, op := range map[string]turn.Op{
		"set":         setLabel(sessionA, "2", "x"),
		"transaction": &turn.Tx{All: true, Steps: []turn.Step{{Op: setLabel(sessionA, "2", "x")}}},
	} {
		if out := r.apply(1, op)[0]; out.Err == nil || out.Err.Kind != turn.TooLarge {
			t.Errorf("%s: %v", name, out.Err)
		}
	}
}

// An index that does not agree with the sessions fails the lists that meet it, and nothing else: the other
// nodes have the same, so no node may end for it.
func TestIndexThatDoesNotAgree(t *testing.T) {
	r := newRig(t)
	r.raise(turn.Level2)
	r.do(setLabel(named("a"), "user", "u1"))
	r.do(setLabel(named("b"), "user", "u1"))
	h, _ := r.m.keys.Tables.Head("0\x00a")
	h.Revision += 100
	q := &turn.Sessions{Namespace: "0", Limit: 9, Labels: []turn.Label{labelOf("user", "u1")}}
	if _, err := r.m.Query(q); !turn.Is(err, turn.Corrupt) {
		t.Errorf("the list has the error %v", err)
	}
	h.Revision -= 100
	r.m.keys.Remove(layout.LabelKey("0", labelOf("user", "u1")), r.own(layout.LabelKey("0", labelOf("user", "u1"))))
	r.do(appendOf(named("a"), "1", "x"))
	if got := r.listed(9, labelOf("user", "u1")); !slices.Equal(got, []string{"a"}) {
		t.Errorf("after the index was lost, and one session changed: %q", got)
	}
	r.do(&turn.Delete{Keys: []turn.Key{named("a"), named("b")}})
}

// own returns the head of a key, to be changed.
func (r *rig) own(key string) *memtable.Head {
	h, _ := r.m.keys.Head(key)
	return r.m.keys.Own(key, h)
}
