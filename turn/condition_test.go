package turn

import (
	"strings"
	"testing"
)

// What a transaction that takes place as a whole may consist of. Of what is rejected, the error says
// which condition or step it is.
func TestTransactionsAsAWhole(t *testing.T) {
	l := Limits{MessageBytes: 100, AppendBytes: 100, AppendMessages: 3, KeyBytes: 9, IDBytes: 4, MetaBytes: 10}
	k, other := Key{Namespace: "0", Name: "k"}, Key{Namespace: "1", Name: "k"}
	one, some := uint64(1), []NewMessage{{}}
	step := func(ops ...Op) (steps []Step) {
		for _, o := range ops {
			steps = append(steps, Step{Op: o})
		}
		return steps
	}
	message := func(k Key, ids ...string) Op {
		o := &Append{Key: k}
		for _, id := range ids {
			o.Messages = append(o.Messages, NewMessage{ID: id})
		}
		return o
	}
	all := func(ops ...Op) Tx { return Tx{All: true, Steps: step(ops...)} }
	where := func(o Tx, cs ...Condition) Tx { o.Conditions = cs; return o }
	named := func(o Tx, id string) Tx { o.ID = id; return o }
	for what, x := range map[string]struct {
		tx              Tx
		want            Kind // Internal: valid
		condition, step int
	}{
		"all kinds of steps": {tx: all(message(k, "a"), &SetMetadata{Key: k}, &Clear{Key: k}, &Delete{Keys: []Key{k}},
			&Trim{Key: k}, &Expire{Key: k}, &SetFields{Key: k, Type: TypeHash, Fields: []Field{{Name: "f"}}},
			&RemoveFields{Key: k, Type: TypeSet, Names: []string{"f"}})},
		"conditions":     {tx: where(all(&Clear{Key: k}), Condition{Key: k, Is: Absent}, Condition{Key: k, Is: AtSeq})},
		"an id":          {tx: named(all(&Clear{Key: k}), "1234")},
		"too long an id": {tx: named(all(&Clear{Key: k}), "12345"), want: TooLarge},
		"no step":        {tx: where(all(), Condition{Key: k}), want: Invalid},
		"watched keys":   {tx: Tx{All: true, Watch: []Watched{{Key: k}}, Steps: step(&Clear{Key: k})}, want: Invalid},
		"conditions without all": {tx: Tx{Conditions: []Condition{{Key: k}}, Steps: step(&Clear{Key: k})},
			want: Invalid},
		"an id without all": {tx: Tx{ID: "a", Steps: step(&Clear{Key: k})}, want: Invalid},
		"an unknown condition": {tx: where(all(&Clear{Key: k}), Condition{Key: k}, Condition{Key: k, Is: Absent + 1}),
			want: Invalid, condition: 2},
		"a condition without a key": {tx: where(all(&Clear{Key: k}), Condition{Key: Key{Namespace: "0"}}),
			want:      Invalid,
			condition: 1},
		"a condition on another namespace": {tx: where(all(&Clear{Key: k}), Condition{Key: k}, Condition{Key: other}),
			want: Invalid, condition: 2},
		"a step in another namespace": {tx: all(&Clear{Key: k}, &Clear{Key: other}), want: Invalid, step: 2},
		"a step in another namespace than a condition": {tx: where(all(&Clear{Key: other}), Condition{Key: k}),
			want: Invalid,
			step: 1},
		"a key to delete in another one": {tx: all(&Delete{Keys: []Key{k, other}}), want: Invalid, step: 1},
		"a step without a key": {tx: all(&Clear{Key: k}, &Clear{Key: Key{Namespace: "0"}}), want: Invalid,
			step: 2},
		"a step that cannot be one": {tx: all(&SetString{Key: k}), want: Invalid, step: 1},
		"a query": {tx: Tx{All: true, Steps: []Step{{Query: &GetString{Key: k}}}},
			want: Invalid, step: 1},
		"members of a sorted set": {tx: all(&RemoveFields{Key: k, Type: TypeZSet, Names: []string{"f"}}), want: Invalid,
			step: 1},
		"an append at a revision": {tx: all(&Append{Key: k, Messages: some, Expect: &one}), want: Invalid, step: 1},
		"an append to what is there": {tx: all(&Append{Key: k, Messages: some, OnlyExisting: true}),
			want: Invalid, step: 1},
		"an append to what must be": {tx: all(&Append{Key: k, Messages: some, MustExist: true}),
			want: Invalid, step: 1},
		"metadata at a revision":      {tx: all(&SetMetadata{Key: k, Expect: &one}), want: Invalid, step: 1},
		"a clear at a revision":       {tx: all(&Clear{Key: k, Expect: &one}), want: Invalid, step: 1},
		"a deletion at a revision":    {tx: all(&Delete{Keys: []Key{k}, Expect: &one}), want: Invalid, step: 1},
		"a trim at a revision":        {tx: all(&Trim{Key: k, Expect: &one}), want: Invalid, step: 1},
		"an expiry at a revision":     {tx: all(&Expire{Key: k, Expect: &one}), want: Invalid, step: 1},
		"an expiry under a condition": {tx: all(&Expire{Key: k, If: IfNone}), want: Invalid, step: 1},
		"a message twice": {tx: all(message(k, "a"), &Clear{Key: k}, message(k, "b", "a")),
			want: Invalid, step: 3},
		"a message of two sessions":     {tx: all(message(k, "a"), message(Key{Namespace: "0", Name: "l"}, "a"))},
		"messages without ids":          {tx: all(message(k, "", ""), message(k, ""))},
		"as many messages as there may": {tx: all(message(k, "a", "b"), message(k, "c"))},
		"a message more":                {tx: all(message(k, "a", "b"), message(k, "c", "d")), want: TooLarge},
	} {
		var e Error
		err := x.tx.Validate(l)
		if err != nil {
			e = *AsError(err)
		}
		if (err == nil) != (x.want == Internal) || e.Kind != x.want || e.Condition != x.condition || e.Step != x.step {
			t.Errorf("%s: %v, condition %d, step %d", what, err, e.Condition, e.Step)
		}
	}
}

// A transaction that takes place as a whole has so many steps and conditions, and not one more.
func TestLongTransactionsAsAWhole(t *testing.T) {
	l, k := DefaultLimits(), Key{Namespace: "0", Name: "k"}
	for _, n := range []int{MaxAllSteps, MaxAllSteps + 1} {
		steps := &Tx{All: true}
		conditions := &Tx{All: true, Steps: []Step{{Op: &Clear{Key: k}}}}
		for range n {
			steps.Steps = append(steps.Steps, Step{Op: &Clear{Key: k}})
			conditions.Conditions = append(conditions.Conditions, Condition{Key: k})
		}
		for what, o := range map[string]*Tx{"steps": steps, "conditions": conditions} {
			if err := o.Validate(l); (err == nil) != (n == MaxAllSteps) || err != nil && !Is(err, TooLarge) {
				t.Errorf("%d %s: %v", n, what, err)
			}
		}
	}
}

// The keys of a transaction are those of its conditions and steps: by them rights are checked.
func TestKeysOfATransaction(t *testing.T) {
	key := func(name string) Key { return Key{Namespace: "0", Name: name} }
	o := &Tx{All: true, Conditions: []Condition{{Key: key("a")}}}
	for _, op := range []Op{&Append{Key: key("b")}, &SetMetadata{Key: key("c")}, &Clear{Key: key("d")},
		&Delete{Keys: []Key{key("e"), key("f")}}, &Trim{Key: key("g")}, &Expire{Key: key("h")},
		&SetFields{Key: key("i")},
		&RemoveFields{Key: key("j")}, &Pop{Key: key("k")}, &EditMessage{Key: key("l")}, &RemoveMessage{Key: key("m")},
		&Replace{Key: key("n")}, &Retain{Key: key("o")}, &Rename{Key: key("p"), To: key("q")}} {
		o.Steps = append(o.Steps, Step{Op: op})
	}
	var names []string
	for _, k := range o.Keys() {
		names = append(names, k.Name)
	}
	if got := strings.Join(names, ""); got != "abcdefghijklmnopq" || o.Namespace() != "0" {
		t.Errorf("the keys are %s, of namespace %q", got, o.Namespace())
	}
	if got := (&Tx{}).Namespace(); got != "" {
		t.Errorf("a transaction without steps has the namespace %q", got)
	}
}
