package main

import (
	"slices"
	"testing"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// What a backup must have, and what it cannot have, is judged by when it began, and by revisions.
func TestRestoredIsJudged(t *testing.T) {
	message := func(seq uint64, value string) history.Message { return history.Message{Seq: seq, Value: value} }
	ops := []history.Operation{
		{ID: 1, Session: "0/a", Return: 10, Call: history.Call{Func: history.Append, Values: []string{"a1", "a2"}},
			Result: history.Result{First: 1, Last: 2, Revision: 5}},
		{ID: 2, Session: "0/b", Return: 30, Call: history.Call{Func: history.Append, Values: []string{"b1"}},
			Result: history.Result{First: 1, Last: 1, Revision: 6}},
		{ID: 3, Session: "0/a", Return: 40, Call: history.Call{Func: history.Append, Values: []string{"a3"}},
			Result: history.Result{First: 3, Last: 3, Revision: 7}},
		{ID: 4, Session: "0/a", Call: history.Call{Func: history.Read, Final: true},
			Result: history.Result{Last: 3, Messages: []history.Message{message(1, "a1"), message(2, "a2"),
				message(3, "a3")}}},
		{ID: 5, Session: "0/b", Call: history.Call{Func: history.Read, Final: true},
			Result: history.Result{Last: 1, Messages: []history.Message{message(1, "b1")}}},
	}
	for i := range ops {
		ops[i].Outcome = history.OK
	}
	session := func(revision uint64, values ...string) (r history.Result) {
		r.Last, r.Revision = uint64(len(values)), revision
		for i, v := range values {
			r.Messages = append(r.Messages, message(uint64(i+1), v))
		}
		return r
	}
	a, none := session(5, "a1", "a2"), history.Result{}
	for what, c := range map[string]struct {
		a, b     history.Result
		problems int
	}{
		"up to revision 5":         {a, none, 0},
		"up to revision 6":         {a, session(6, "b1"), 0},
		"all":                      {session(7, "a1", "a2", "a3"), session(6, "b1"), 0},
		"nothing":                  {none, none, 1},
		"half of an append":        {session(5, "a1"), none, 1},
		"two moments":              {session(7, "a1", "a2", "a3"), none, 1},
		"twice":                    {session(5, "a1", "a2", "a2"), none, 1},
		"another message":          {session(5, "a1", "b1"), none, 1},
		"a hole":                   {history.Result{Last: 2, Revision: 5, Messages: a.Messages[:1]}, none, 1},
		"more than there ever was": {session(7, "a1", "a2", "a3", "a4"), session(6, "b1"), 1},
	} {
		got := checkRestored(ops, 20, map[string]history.Result{"0/a": c.a, "0/b": c.b})
		if len(got) != c.problems {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := lastAppends(ops, map[string]history.Result{"0/a": a}); len(got) != 0 {
		t.Errorf("appends without ids are sent again: %v", got)
	}
	ops[0].Call.IDs = true
	if got := lastAppends(ops, map[string]history.Result{"0/a": a}); len(got) != 1 || got["0/a"].ID != 1 {
		t.Errorf("to be sent again: %v", got)
	}
}

// A backup with next to nothing in it is not what a drill restores, unless there are no others.
func TestBackupsWorthRestoring(t *testing.T) {
	for _, c := range []struct{ has, want []uint64 }{
		{[]uint64{4, 99, 100, 1000}, []uint64{100, 1000}},
		{[]uint64{4, 7}, []uint64{4, 7}},
		{[]uint64{0}, []uint64{0}},
	} {
		var backups []takenBackup
		for _, n := range c.has {
			backups = append(backups, takenBackup{messages: n})
		}
		var got []uint64
		for _, b := range worthRestoring(backups) {
			got = append(got, b.messages)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of backups with %v messages, those with %v", c.has, got)
		}
	}
}
