package history

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	rec, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	expect := uint64(7)
	call := Call{Func: Append, Values: []string{"a", "b"}, IDs: true, Expect: &expect}
	op, err := rec.Invoke(3, "n1", "http", "0/s", call)
	if err != nil {
		t.Fatal(err)
	}
	// The invocation is in the file before anything else happens.
	if data, _ := os.ReadFile(path); !strings.Contains(string(data), `"invoke"`) {
		t.Fatalf("invocation is not on file: %q", data)
	}
	result := Result{First: 1, Last: 2, Revision: 9, Messages: []Message{{1, "a", 0}, {2, "b \" ü", 17}}}
	rec.Return(3, op, OK, &result, nil)
	lost, _ := rec.Invoke(4, "n2", "resp", "0/s", Call{Func: Read})
	failed, _ := rec.Invoke(5, "n2", "resp", "0/s", Call{Func: Pop, N: 1})
	rec.Fault("n1", "kill", true)
	rec.Return(5, failed, Fail, nil, &Error{Code: Conflict, Revision: 3})
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}

	h, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Operations) != 3 || len(h.Marks) != 1 {
		t.Fatalf("%d operations, %d marks", len(h.Operations), len(h.Marks))
	}
	first, second, third := h.Operations[0], h.Operations[1], h.Operations[2]
	if first.ID != op || !reflect.DeepEqual(first.Call, call) || !reflect.DeepEqual(first.Result, result) ||
		first.Return < first.Invoke {
		t.Errorf("first operation: %+v", first)
	}
	if second.ID != lost || second.Outcome != Info || second.Return != Forever {
		t.Errorf("operation without an answer: %+v", second)
	}
	if third.Outcome != Fail || third.Error.Revision != 3 || third.Return == Forever {
		t.Errorf("failed operation: %+v", third)
	}
}

func TestParseTornAndMalformed(t *testing.T) {
	const invoke = `{"type":"invoke","op":1,"call":{"f":"read"}}` + "\n"
	h, err := Parse(strings.NewReader(invoke + `{"type":"ok","op":1,"resu`))
	if err != nil || len(h.Operations) != 1 || h.Operations[0].Outcome != Info {
		t.Errorf("torn last line: %+v, %v", h, err)
	}
	for name, text := range map[string]string{
		"garbage":           "nonsense\n",
		"no call":           `{"type":"invoke","op":1}` + "\n",
		"invoked twice":     invoke + invoke,
		"never invoked":     `{"type":"ok","op":1,"result":{}}` + "\n",
		"ok without result": invoke + `{"type":"ok","op":1}` + "\n",
		"returns twice":     invoke + strings.Repeat(`{"type":"ok","op":1,"result":{},"time":5}`+"\n", 2),
		"unknown type":      invoke + `{"type":"maybe","op":1}` + "\n",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestRightsLosses(t *testing.T) {
	h := &History{}
	for i, stage := range []RightsStage{RightsGoing, RightsGone, RightsComing, RightsBack} {
		h.Marks = append(h.Marks, Event{Type: Note, Time: int64(i + 1), Text: RightsNote("visitor", true, stage)})
	}
	h.Marks = append(h.Marks, Event{Type: Note, Time: 5, Text: "leader n1"},
		Event{Type: Note, Time: 6, Text: RightsNote("visitor", false, RightsGoing)})
	want := []RightsLoss{{"visitor", true, 1, 2, 3, 4}, {"visitor", false, 6, Forever, Forever, Forever}}
	if got := h.RightsLosses(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
