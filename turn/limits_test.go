package turn

import (
	"strings"
	"testing"
)

// Each limit is the most that is taken: one more is rejected.
func TestLimitsAreExact(t *testing.T) {
	l := Limits{MessageBytes: 10, AppendBytes: 20, AppendMessages: 3, KeyBytes: 5, IDBytes: 4, MetaBytes: 10}
	k := Key{Namespace: "0", Name: "k"}
	text := func(n int) string { return strings.Repeat("x", n) }
	messages := func(sizes ...int) (ms []NewMessage) {
		for _, n := range sizes {
			ms = append(ms, NewMessage{Data: make([]byte, n)})
		}
		return ms
	}
	type request = interface{ Validate(Limits) error }
	for what, x := range map[string]struct {
		most int
		of   func(n int) request
		want Kind // of one more
	}{
		"bytes of a message": {10, func(n int) request { return &Append{Key: k, Messages: messages(n)} }, TooLarge},
		"bytes of messages": {20, func(n int) request { return &Append{Key: k, Messages: messages(10, n-10)} },
			TooLarge},
		"bytes of messages that take the place of others": {20,
			func(n int) request { return &Replace{Key: k, From: 1, Messages: messages(9, 2, n-11)} }, TooLarge},
		"messages": {3, func(n int) request { return &Append{Key: k, Messages: messages(make([]int, n)...)} },
			TooLarge},
		"bytes of an id": {4,
			func(n int) request { return &Append{Key: k, Messages: []NewMessage{{ID: text(n)}}} }, TooLarge},
		"bytes of a key": {5, func(n int) request { return &Clear{Key: Key{Namespace: "0", Name: text(n)}} }, TooLarge},
		"bytes of a namespace": {MaxNamespaceBytes,
			func(n int) request { return &Count{Namespace: text(n)} }, Invalid},
		"bytes of metadata": {10,
			func(n int) request { return &SetMetadata{Key: k, Set: map[string]string{"a": "b", "c": text(n - 3)}} },
			TooLarge},
		"bytes of metadata of an append": {10, func(n int) request {
			return &Append{Key: k, Messages: messages(1), Set: map[string]string{"ab": text(n - 2)}}
		}, TooLarge},
		"bytes of a prefix": {5,
			func(n int) request { return &Erase{Namespace: "0", Prefix: text(n), Limit: 1} }, TooLarge},
		"bytes of a cursor": {6,
			func(n int) request { return &Sessions{Namespace: "0", Cursor: text(n), Limit: 1} }, TooLarge},
		"sessions of a page": {maxPageSessions, func(n int) request { return &Sessions{Namespace: "0", Limit: n} },
			Invalid},
		"sessions of a step": {maxEraseSessions, func(n int) request { return &Erase{Namespace: "0", Limit: n} },
			Invalid},
		"keys to delete": {maxEraseSessions,
			func(n int) request { return &Delete{Keys: keysOf(n)} }, Invalid},
		"lists to pop from": {maxEraseSessions,
			func(n int) request { return &PopFirst{Keys: keysOf(n), Count: 1} }, Invalid},
		"strings to set": {maxEraseSessions,
			func(n int) request { return &SetNew{Keys: keysOf(n), Values: make([][]byte, n)} }, Invalid},
		"bytes of strings": {20, func(n int) request {
			return &SetNew{Keys: keysOf(3), Values: [][]byte{make([]byte, 10), make([]byte, 5), make([]byte, n-15)}}
		}, TooLarge},
		"fields": {MaxElements, func(n int) request { return &RemoveEntries{Key: k, IDs: make([]EntryID, n)} },
			Invalid},
		"bytes of a name": {MaxNameBytes, func(n int) request { return &AddToField{Key: k, Name: text(n)} }, TooLarge},
		"bytes of names": {20,
			func(n int) request {
				return &RemoveFields{Key: k, Type: TypeSet, Names: []string{"abcde", "fghij", "klmno", text(n - 15)}}
			}, TooLarge},
		"bytes of fields": {20, func(n int) request {
			return &SetFields{Key: k, Type: TypeHash,
				Fields: []Field{{"a", make([]byte, 10)}, {"b", make([]byte, n-12)}}}
		}, TooLarge},
		"bytes of a field's name": {MaxNameBytes + 1,
			func(n int) request { return &AllFields{Key: k, Type: TypeHash, Cursor: text(n)} }, Invalid},
		"steps": {MaxSteps, func(n int) request { return &Tx{Steps: stepsOf(n, &GetString{Key: k})} }, TooLarge},
		"keys to watch": {MaxSteps, func(n int) request {
			o := &Tx{}
			for range n {
				o.Watch = append(o.Watch, Watched{Key: k})
			}
			return o
		}, TooLarge},
		"bytes of steps": {20, func(n int) request {
			return &Tx{Steps: []Step{{Op: &Append{Key: k, Messages: messages(10)}},
				{Op: &SetString{Key: k, Value: make([]byte, 5)}}, {Op: &SetElement{Key: k, Data: make([]byte, n-15)}}}}
		}, TooLarge},
	} {
		if err := x.of(x.most).Validate(l); err != nil {
			t.Errorf("%d %s: %v", x.most, what, err)
		}
		if err := x.of(x.most + 1).Validate(l); !Is(err, x.want) {
			t.Errorf("%d %s: %v, want %v", x.most+1, what, err, x.want)
		}
	}
}

func keysOf(n int) (keys []Key) {
	for range n {
		keys = append(keys, Key{Namespace: "0", Name: "k"})
	}
	return keys
}

// stepsOf returns steps that ask the same.
func stepsOf(n int, q Query) (steps []Step) {
	for range n {
		steps = append(steps, Step{Query: q})
	}
	return steps
}

// A namespace has letters, digits and three signs, all else is rejected, its neighbours above all.
func TestNamesOfNamespaces(t *testing.T) {
	const good = "azAZ09._-"
	for c := range 256 {
		name := string([]byte{'a', byte(c)})
		want := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.ContainsRune("._-", rune(c))
		if err := checkNamespace(name); (err == nil) != want {
			t.Errorf("namespace %q: %v", name, err)
		}
	}
	if err := checkNamespace(good); err != nil {
		t.Error(err)
	}
	if err := checkNamespace(""); !Is(err, Invalid) {
		t.Errorf("no namespace: %v", err)
	}
}

// The ids of one call are distinct; messages without an id may be many.
func TestIDsOfOneCall(t *testing.T) {
	l, k := DefaultLimits(), Key{Namespace: "0", Name: "k"}
	for what, x := range map[string]struct {
		ids  []string
		want bool
	}{
		"distinct": {[]string{"a", "b"}, true}, "none": {[]string{"", "", ""}, true},
		"one": {[]string{"a"}, true}, "some": {[]string{"", "a", "", "b"}, true},
		"twice": {[]string{"a", "a"}, false}, "twice, apart": {[]string{"a", "", "b", "a"}, false},
	} {
		var ms []NewMessage
		for _, id := range x.ids {
			ms = append(ms, NewMessage{ID: id})
		}
		for _, o := range []Op{&Append{Key: k, Messages: ms}, &Replace{Key: k, From: 1, Messages: ms}} {
			if err := o.Validate(l); (err == nil) != x.want || err != nil && !Is(err, Invalid) {
				t.Errorf("%s, %T: %v", what, o, err)
			}
		}
	}
}
