package turn

import (
	"math"
	"strings"
	"testing"
)

// What is malformed or too large is refused before it is proposed: the state
// machine takes it that nothing else reaches it.
func TestValuesAreValidated(t *testing.T) {
	l := Limits{MessageBytes: 10, AppendBytes: 20, AppendMessages: 2, KeyBytes: 5, IDBytes: 4, MetaBytes: 10}
	k := Key{Namespace: "0", Name: "k"}
	value, long := []byte("0123456789"), []byte("0123456789x")
	name := strings.Repeat("n", MaxNameBytes+1)
	fields := []Field{{Name: "f", Value: value}}
	for _, c := range []struct {
		what string
		v    interface{ Validate(Limits) error }
		want Kind // Internal: valid
	}{
		{"string", &SetString{Key: k, Value: value}, Internal},
		{"long string", &SetString{Key: k, Value: long}, TooLarge},
		{"two expiries", &SetString{Key: k, TTL: 1, At: 1}, Invalid},
		{"kept and set expiry", &SetString{Key: k, TTL: 1, KeepTTL: true}, Invalid},
		{"negative ttl", &SetString{Key: k, TTL: -1}, Invalid},
		{"longest ttl", &SetString{Key: k, TTL: MaxTTL}, Internal},
		{"too long a ttl", &SetString{Key: k, TTL: MaxTTL + 1}, Invalid},
		{"longest expiry", &Expire{Key: k, HasTTL: true, Slide: true, TTL: MaxTTL}, Internal},
		{"too long an expiry", &Expire{Key: k, HasTTL: true, TTL: math.MaxInt64}, Invalid},
		{"expiry in the past", &Expire{Key: k, HasTTL: true, TTL: math.MinInt64}, Internal},
		{"too long a ttl of an append", &Append{Key: k, Messages: []NewMessage{{}}, TTL: math.MaxInt64}, Invalid},
		{"no key", &AddInt{Key: Key{Namespace: "0"}}, Invalid},
		{"fields", &SetFields{Key: k, Type: TypeHash, Fields: fields}, Internal},
		{"fields of a string", &SetFields{Key: k, Type: TypeString, Fields: fields}, Invalid},
		{"no fields", &SetFields{Key: k, Type: TypeHash}, Invalid},
		{"member with a value", &SetFields{Key: k, Type: TypeSet, Fields: fields}, Invalid},
		{"long field", &SetFields{Key: k, Type: TypeHash, Fields: []Field{{Value: long}}}, TooLarge},
		{"long name", &SetFields{Key: k, Type: TypeSet, Fields: []Field{{Name: name}}}, TooLarge},
		{"much together", &SetFields{Key: k, Type: TypeHash, Fields: []Field{{"a", value}, {"b", value}}}, TooLarge},
		{"names of a stream", &RemoveFields{Key: k, Type: TypeStream, Names: []string{"a"}}, Invalid},
		{"cursor", &AllFields{Key: k, Type: TypeSet, Cursor: name + "x"}, Invalid},
		{"score", &SetScores{Key: k, Members: []Score{{"m", math.Inf(-1)}}}, Internal},
		{"no number", &SetScores{Key: k, Members: []Score{{"m", math.NaN()}}}, Invalid},
		{"NX and XX", &SetScores{Key: k, Members: []Score{{"m", 1}}, OnlyNew: true, OnlyExisting: true}, Invalid},
		{"NX and GT", &SetScores{Key: k, Members: []Score{{"m", 1}}, OnlyNew: true, OnlyGreater: true}, Invalid},
		{"GT and LT", &SetScores{Key: k, Members: []Score{{"m", 1}}, OnlyLess: true, OnlyGreater: true}, Invalid},
		{"two to increment", &SetScores{Key: k, Members: []Score{{"m", 1}, {"n", 1}}, Increment: true}, Invalid},
		{"bound", &Scores{Key: k, By: ByScore, Max: Bound{Score: math.NaN()}}, Invalid},
		{"message by seq", &EditMessage{Key: k, Message: MessageRef{Seq: 1}}, Internal},
		{"no message", &EditMessage{Key: k}, Invalid},
		{"label without a name", &SetMetadata{Key: k, Set: map[string]string{"label.": "x"}}, Invalid},
		{"label with a space", &Append{Key: k, Messages: make([]NewMessage, 1),
			Set: map[string]string{"label. b": "x"}},
			Invalid},
		{"label", &SetMetadata{Key: k, Set: map[string]string{"label.-/": "\x00"}}, Internal},
		{"by a long label", &Sessions{Namespace: "0", Limit: 1,
			Labels: []Label{{"a", strings.Repeat("x", 257)}}}, TooLarge},
		{"by a label twice", &Sessions{Namespace: "0", Limit: 1, Labels: []Label{{Name: "a"}, {Name: "a"}}}, Invalid},
		{"by too many labels", &Sessions{Namespace: "0", Limit: 1, Labels: make([]Label, MaxLabels+1)}, TooLarge},
		{"by a label, Redis's keys", &Sessions{Namespace: "0", Limit: 1, List: true,
			Labels: []Label{{Name: "a"}}}, Invalid},
		{"by a label, another cursor", &Sessions{Namespace: "0", Limit: 1, Cursor: "x", Labels: []Label{{Name: "a"}}},
			Invalid},
		{"by prefixes alone", &Sessions{Namespace: "0", Limit: 1, Prefixes: []string{"a"}}, Invalid},
		{"message by both", &RemoveMessage{Key: k, Message: MessageRef{Seq: 1, ID: "a"}}, Invalid},
		{"long id of a message", &RemoveMessage{Key: k, Message: MessageRef{ID: name}}, TooLarge},
		{"long edit", &EditMessage{Key: k, Message: MessageRef{Seq: 1}, Data: long}, TooLarge},
		{"range to remove", &RemoveScores{Of: Scores{Key: k, By: ByScore, Max: Bound{Score: math.NaN()}}}, Invalid},
		{"deadline alone", &SetString{Key: k, If: SetIfPresent, Get: true, KeepValue: true, TTL: 1}, Internal},
		{"value kept and set", &SetString{Key: k, If: SetIfPresent, Get: true, KeepValue: true, Value: []byte("v")},
			Invalid},
		{"value kept of any type", &SetString{Key: k, If: SetIfPresent, KeepValue: true}, Invalid},
		{"value kept of none", &SetString{Key: k, If: SetIfAbsent, Get: true, KeepValue: true}, Invalid},
		{"entry", &AddEntry{Key: k, Make: IDMade, Fields: fields}, Internal},
		{"entry 0-0", &AddEntry{Key: k, Fields: fields}, Invalid},
		{"empty entry", &AddEntry{Key: k, Make: IDMade}, Invalid},
		{"element", &SetElement{Key: k, Data: long}, TooLarge},
		{"pivot", &InsertElement{Key: k, Pivot: long}, TooLarge},
		{"type", &Sessions{Namespace: "0", Limit: 1, Type: TypeStream + 1}, Invalid},
		{"transaction", &Tx{Watch: []Watched{{Key: k}},
			Steps: []Step{{Op: &AddInt{Key: k}}, {Query: &GetString{Key: k}}}}, Internal},
		{"empty transaction", &Tx{}, Internal},
		{"empty step", &Tx{Steps: []Step{{}}}, Invalid},
		{"double step", &Tx{Steps: []Step{{Op: &AddInt{Key: k}, Query: &GetString{Key: k}}}}, Invalid},
		{"nested transaction", &Tx{Steps: []Step{{Op: &Tx{}}}}, Invalid},
		{"bad step", &Tx{Steps: []Step{{Query: &GetString{}}}}, Invalid},
		{"bad watch", &Tx{Watch: []Watched{{}}}, Invalid},
		{"much in steps", &Tx{Steps: []Step{
			{Op: &SetString{Key: k, Value: value}}, {Op: &SetFields{Key: k, Type: TypeHash, Fields: fields}},
		}}, TooLarge},
	} {
		err := c.v.Validate(l)
		if c.want == Internal && err != nil || c.want != Internal && !Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}

func TestEntryIDsFollowEachOther(t *testing.T) {
	ids := []EntryID{{}, {0, 1}, {0, math.MaxUint64}, {1, 0}, {1, 1}, MaxEntryID()}
	for i, id := range ids {
		for j, other := range ids {
			if got := id.Compare(other); got > 0 != (i > j) || got < 0 != (i < j) {
				t.Errorf("%v compared with %v is %d", id, other, got)
			}
		}
		if next, ok := id.Next(); ok != (id != MaxEntryID()) || ok && next.Compare(id) <= 0 {
			t.Errorf("after %v comes %v, %v", id, next, ok)
		} else if back, _ := next.Prev(); ok && back != id {
			t.Errorf("before %v comes %v, want %v", next, back, id)
		}
	}
	if _, ok := (EntryID{}).Prev(); ok {
		t.Error("something comes before the zero id")
	}
}
