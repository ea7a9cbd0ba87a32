package fsm

import (
	"slices"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// The first epoch names the cluster, each later one is of another leader. A member's incarnation stays
// until the member is removed.
func TestClusterAndMembers(t *testing.T) {
	r := newRig(t)
	r.apply(1, &codec.Epoch{ClusterID: "first"})
	r.apply(1, &codec.Epoch{ClusterID: "second"})
	if id := r.m.ClusterID(); id != "first" {
		t.Errorf("the cluster is %q", id)
	}
	one := codec.Member{ID: "n1", Incarnation: "a", RESPAddr: "r", HTTPAddr: "h"}
	for _, c := range []struct {
		op   codec.Member
		kind turn.Kind
		want []codec.Member
	}{
		{codec.Member{ID: "n2", Incarnation: "x"}, turn.None, []codec.Member{{ID: "n2", Incarnation: "x"}}},
		{one, turn.None, []codec.Member{one, {ID: "n2", Incarnation: "x"}}},
		{codec.Member{ID: "n2", Incarnation: "y"}, turn.Exists, []codec.Member{one, {ID: "n2", Incarnation: "x"}}},
		{codec.Member{ID: "n2", Incarnation: "x", RESPAddr: "moved"}, turn.None,
			[]codec.Member{one, {ID: "n2", Incarnation: "x", RESPAddr: "moved"}}},
		{codec.Member{ID: "n2", Incarnation: "y", Remove: true}, turn.None, []codec.Member{one}},
		{codec.Member{ID: "n3", Remove: true}, turn.None, []codec.Member{one}},
		{codec.Member{ID: "n2", Incarnation: "y"}, turn.None, []codec.Member{one, {ID: "n2", Incarnation: "y"}}},
	} {
		out := r.apply(1, &c.op)[0]
		kind := turn.None
		if out.Err != nil {
			kind = out.Err.Kind
		}
		if got := r.m.Members(); kind != c.kind || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, members %+v, want %+v", c.op, out.Err, got, c.want)
		}
	}
}

// What is durable is known from the start on, and after a state that took the place of this one's.
func TestDurableIsKnownAtTheStart(t *testing.T) {
	r := newRig(t)
	behind := lagging(r)
	r.apply(1, appendOf(sessionA, "", "data"))
	r.m.Note(2, 7)
	r.index, r.log = 2, append(r.log, nil)
	r.flush()
	for how, m := range map[string]*rig{"applied": r, "restored": behind, "opened": r} {
		switch how {
		case "restored":
			behind.takeOver(r)
		case "opened":
			if err := r.m.Close(); err != nil {
				t.Fatal(err)
			}
			r.open()
		}
		index, term := m.m.Durable()
		if applied, of := m.m.Applied(); index != 2 || term != 7 || applied != 2 || of != 7 {
			t.Errorf("%s: entry %d of term %d is durable, %d of term %d applied; want 2 of 7", how, index, term,
				applied, of)
		}
	}
}

// A flush ends where the memtable does, in entry and term, though other leaders' entries were applied
// meanwhile.
func TestDurableTermIsThatOfTheEntry(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "", "data"))
	r.m.mu.Lock()
	r.m.freeze()
	r.m.mu.Unlock()
	r.m.Note(2, 9)
	if _, err := r.m.flush(); err != nil {
		t.Fatal(err)
	}
	if index, term := r.m.Durable(); index != 1 || term != 1 {
		t.Errorf("entry %d of term %d is durable, want entry 1 of term 1", index, term)
	}
}
