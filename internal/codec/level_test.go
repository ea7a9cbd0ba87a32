package codec

import (
	"reflect"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// grown is a record as a version before a level knows it (fields 1 and 2), and as
// the versions of two levels since know it.
type grown struct {
	known    turn.ClusterLevel // the version's
	a, b     uint64
	c, d     uint64 // since level 5
	e        string // since level 7
	inAList  bool
	elements []uint64
}

func (g *grown) fields(c *coder) {
	c.uint64(&g.a)
	c.uint64(&g.b)
	if g.inAList {
		list(c, &g.elements, func(v *uint64) {
			if c.later(5, true) {
				c.uint64(v)
			}
		})
	}
	if g.known >= 5 && c.later(5, g.c != 0 || g.d != 0 || g.e != "") {
		c.uint64(&g.c)
		c.uint64(&g.d)
	}
	if g.known >= 7 && c.later(7, g.e != "") {
		c.string(&g.e)
	}
}

// What a record holds, not what the version knows that wrote it, decides who can read
// it, and what level it needs.
func TestLaterFields(t *testing.T) {
	for _, test := range []struct {
		name   string
		record grown
		needs  turn.ClusterLevel
	}{
		{"as of old", grown{a: 1, b: 2}, 0},
		{"of level 5", grown{a: 1, b: 2, d: 4}, 5},
		{"of level 7", grown{a: 1, b: 2, e: "x"}, 7},
		{"of both", grown{a: 1, b: 2, c: 3, d: 4, e: "x"}, 7},
	} {
		wrote := test.record
		wrote.known = 7
		b, needs, err := encodeLevel(nil, &wrote)
		if err != nil || needs != test.needs {
			t.Errorf("%s: it needs level %d, want %d (%v)", test.name, needs, test.needs, err)
		}
		for _, known := range []turn.ClusterLevel{0, 5, 7} {
			got := grown{known: known}
			needs, err := decodeLevel(b, &got)
			if known < test.needs {
				if turn.KindOf(err) != turn.Newer {
					t.Errorf("%s: read by level %d: %v", test.name, known, err)
				}
				continue
			}
			want := test.record
			want.known = known
			if err != nil || needs != test.needs || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: read by level %d: %+v, needs level %d, %v", test.name, known, got, needs, err)
			}
		}
	}
	if _, err := encode(nil, &grown{inAList: true, elements: []uint64{1}}); err == nil {
		t.Error("an element of a list has later fields")
	}
}

// A step, operation or query, needs of the cluster what it needs by itself.
func TestLevelOfKinds(t *testing.T) {
	for _, ks := range []*kinds{&opKinds, &queryKinds} {
		before := *ks
		defer func() { *ks = before }()
		ks.byNumber = append([]kind(nil), ks.byNumber...)
	}
	opKinds.byNumber[kindAddInt] = opKinds.byNumber[kindAddInt].since(3)
	queryKinds.byNumber[kindGetString] = queryKinds.byNumber[kindGetString].since(4)
	k := turn.Key{Namespace: "0", Name: "k"}
	add, get, other := turn.Step{Op: &turn.AddInt{Key: k}}, turn.Step{Query: &turn.GetString{Key: k}},
		turn.Step{Op: &turn.Clear{Key: k}}
	for _, test := range []struct {
		op   turn.Op
		want turn.ClusterLevel
	}{
		{&turn.Clear{Key: k}, 0},
		{add.Op, 3},
		{&turn.Tx{Steps: []turn.Step{other}}, 0},
		{&turn.Tx{Steps: []turn.Step{other, add}}, 3},
		{&turn.Tx{Steps: []turn.Step{add, get, other}}, 4},
	} {
		b, needs, err := EncodeOpLevel(test.op)
		if err != nil || needs != test.want {
			t.Errorf("%+v, encoded, needs level %d, want %d (%v)", test.op, needs, test.want, err)
		}
		if _, needs, err := DecodeOpLevel(b); err != nil || needs != test.want {
			t.Errorf("%+v, decoded, needs level %d, want %d (%v)", test.op, needs, test.want, err)
		}
	}
}

// Transactions that take place as a whole take some steps since the third level only; one by one, they took them
// before.
func TestLevelOfStepsOfTransactionsAsAWhole(t *testing.T) {
	k := turn.Key{Namespace: "0", Name: "k"}
	for _, op := range []turn.Op{&turn.Pop{Key: k}, &turn.EditMessage{Key: k}, &turn.RemoveMessage{Key: k},
		&turn.Replace{Key: k}, &turn.Retain{Key: k}, &turn.Rename{Key: k}, &turn.Clear{Key: k}} {
		_, alone, err := EncodeOpLevel(op)
		if err != nil {
			t.Fatal(err)
		}
		for _, all := range []bool{false, true} {
			want := alone
			if _, old := op.(*turn.Clear); all && old {
				want = turn.Level2
			} else if all {
				want = turn.Level3
			}
			b, level, err := EncodeOpLevel(&turn.Tx{All: all, Steps: []turn.Step{{Op: &turn.Clear{Key: k}}, {Op: op}}})
			_, read, err2 := DecodeOpLevel(b)
			if err != nil || err2 != nil || level != want || read != want {
				t.Errorf("%T, all %v: it needs level %d, read %d, want %d; %v, %v", op, all, level, read, want, err,
					err2)
			}
		}
	}
}
