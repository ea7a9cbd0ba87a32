package transaction

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// purse is memory of so many bytes.
type purse int

func (p *purse) Take(n int) bool {
	if n > int(*p) {
		return false
	}
	*p -= purse(n)
	return true
}

func (p *purse) Give(n int) { *p += purse(n) }

const allMemory = 1 << 20

func begun(t *testing.T, memory *purse) *State {
	t.Helper()
	s := New(memory, 1000)
	if reply := shown(t, s.Multi()); reply != "+OK " {
		t.Fatal(reply)
	}
	return &s
}

// shown is an answer that is given at once, as RESP2.
func shown(t *testing.T, a command.Action) string {
	t.Helper()
	switch a := a.(type) {
	case command.Error:
		return "-" + string(a)
	case command.Reply:
		return written(a)
	}
	t.Fatalf("a %T is not answered at once", a)
	return ""
}

func written(write func(*resp.Writer)) string {
	var b bytes.Buffer
	w := resp.NewWriter(&b)
	write(w)
	w.Flush()
	return strings.ReplaceAll(b.String(), "\r\n", " ")
}

var (
	key    = turn.Key{Namespace: "0", Name: "k"}
	plain  = &command.Command{Name: "any"}
	native = &command.Command{Name: "turn.any", Native: true}
)

func clearing(k turn.Key) *command.Write {
	return &command.Write{Op: &turn.Clear{Key: k}, Keys: []turn.Key{k},
		Done: func(w *resp.Writer, r turn.Result) { w.Int(int64(r.Removed)) }}
}

func counting(k turn.Key) *command.Read {
	return &command.Read{Queries: []turn.Query{command.InfoOf(k), command.InfoOf(k)}, Keys: []turn.Key{k},
		Answer: func(os []command.Outcome) (command.Reply, error) {
			return command.Integer(int64(len(os))), os[1].Err
		}}
}

func queues(t *testing.T, s *State, cmd *command.Command, a command.Action, want string) {
	t.Helper()
	if got := shown(t, s.Enqueue(cmd, "", 10, func() command.Action { return a })); got != want {
		t.Errorf("%T is answered %s, want %s", a, got, want)
	}
}

// EXEC is one operation of all requests, and its answer has a reply to each of them, in their order.
func TestBatchOfRequests(t *testing.T) {
	memory := purse(allMemory)
	s := begun(t, &memory)
	for _, a := range []command.Action{clearing(key), counting(key), command.Status("PONG"),
		clearing(turn.Key{Namespace: "0", Name: strings.Repeat("x", 1<<20)}), clearing(key)} {
		queues(t, s, plain, a, "+QUEUED ")
	}
	b, _ := s.Exec(turn.DefaultLimits(), func() { t.Error("it waits for WATCHes, of which there are none") })
	tx := b.Write.Op.(*turn.Tx)
	if len(tx.Steps) != 4 || tx.All || len(b.Write.Keys) != 3 || b.Empty() || b.Publishes() {
		t.Fatalf("%d steps on %d keys", len(tx.Steps), len(b.Write.Keys))
	}
	r := turn.Result{Steps: []turn.Outcome{{Result: turn.Result{Removed: 7}}, {},
		{Err: turn.Errorf(turn.WrongType, "no list")}, {Err: turn.Errorf(turn.TooLarge, "full")}}}
	got := written(func(w *resp.Writer) { b.Write.Done(w, r) })
	for i, want := range []string{"*5 :7 -WRONGTYPE ", "+PONG -", "-TOO_LARGE full "} {
		if !strings.Contains(got, want) || i == 0 && !strings.HasPrefix(got, want) {
			t.Errorf("the answer is %q, which lacks %q", got, want)
		}
	}
	if got := written(func(w *resp.Writer) { b.Write.Done(w, turn.Result{Aborted: true}) }); got != "*-1 " {
		t.Errorf("when a watched key has changed, it is %q", got)
	}
	if memory != allMemory || s.Open() {
		t.Errorf("%d bytes are left; open: %v", memory, s.Open())
	}
}

// What cannot be queued is refused, and EXEC does nothing then.
func TestRefusedRequestsSpoil(t *testing.T) {
	memory := purse(allMemory)
	for name, refuse := range map[string]func(s *State){
		"work": func(s *State) { queues(t, s, plain, command.Alone(nil), "-"+string(ErrNotWithin)) },
		"a connection's own": func(s *State) {
			queues(t, s, &command.Command{Stateful: true}, clearing(key), "-"+string(ErrNotWithin))
		},
		"all or nothing": func(s *State) {
			queues(t, s, native, &command.Write{Op: &turn.Tx{All: true}}, "-"+string(ErrNotWithin))
		},
		"refused before": func(s *State) { s.Enqueue(plain, command.ErrNoAuth, 10, nil) },
		"too long":       func(s *State) { s.Enqueue(plain, "", 1001, nil) },
		"no memory": func(s *State) {
			left := memory
			memory = 0
			queues(t, s, plain, clearing(key), "-"+string(command.ErrCrowded))
			memory = left
		},
		"spoilt": (*State).Spoil,
	} {
		s := begun(t, &memory)
		queues(t, s, plain, clearing(key), "+QUEUED ")
		refuse(s)
		if b, answer := s.Exec(turn.DefaultLimits(), func() {}); b != nil || answer != ErrExecAbort {
			t.Errorf("%s: EXEC is answered %v", name, answer)
		}
		if memory != allMemory || s.Open() {
			t.Errorf("%s: %d bytes are left; open: %v", name, memory, s.Open())
		}
	}
}

// MULTI, EXEC, DISCARD and WATCH out of place are refused, and change nothing.
func TestOutOfPlace(t *testing.T) {
	memory := purse(allMemory)
	s := New(&memory, 1000)
	if b, answer := s.Exec(turn.DefaultLimits(), nil); b != nil || answer != errNoMulti || s.Discard() != errNoDiscard {
		t.Errorf("EXEC before MULTI is answered %v", answer)
	}
	s.Multi()
	if s.Multi() != errNested || s.Watch([]turn.Key{key}, nil) != errWatchWithin {
		t.Error("MULTI or WATCH within a transaction is not refused")
	}
	queues(t, &s, plain, clearing(key), "+QUEUED ")
	if reply := shown(t, s.Discard()); reply != "+OK " || s.Open() || memory != allMemory {
		t.Errorf("DISCARD is answered %s; open: %v, %d bytes are left", reply, s.Open(), memory)
	}
}

// revisions is an engine of which only the revision of a session is asked; 0: the query fails.
type revisions struct {
	command.Engine
	of uint64
}

func (e revisions) Query(context.Context, turn.Query, turn.Consistency) (turn.Result, error) {
	if e.of == 0 {
		return turn.Result{}, errors.New("no leader")
	}
	return turn.Result{Session: &turn.Session{Revision: e.of}, Index: e.of}, nil
}

// EXEC compares the watched keys as WATCH saw them. One that WATCH could not see counts as changed.
func TestWatchedKeys(t *testing.T) {
	for _, seen := range []uint64{5, 0} {
		memory := purse(allMemory)
		s := New(&memory, 1000)
		a := s.Watch([]turn.Key{key}, command.NewBackend(command.NewTable(),
			command.Config{Engine: revisions{of: seen}}))
		if int(memory) != allMemory-watchedOverhead-len(key.Name) {
			t.Errorf("%d bytes are left", memory)
		}
		s.Multi()
		s.Unwatch() // too late
		b, answer := s.Exec(turn.DefaultLimits(), func() { a.(*command.Work).Run(t.Context()) })
		if seen == 0 {
			if got := shown(t, answer); b != nil || got != "*-1 " {
				t.Errorf("a key that was not seen: %s", got)
			}
		} else if w := b.Write.Op.(*turn.Tx).Watch; len(w) != 1 || w[0].Key != key || w[0].Revision != seen {
			t.Errorf("watched: %v", w)
		}
		if memory != allMemory {
			t.Errorf("%d bytes are left in the end", memory)
		}
	}
	memory := purse(allMemory)
	s := New(&memory, 1000)
	s.Watch([]turn.Key{key}, nil)
	if s.Unwatch(); memory != allMemory {
		t.Errorf("%d bytes are left after UNWATCH", memory)
	}
}

// Messages are published by EXEC, in their order, before it is answered.
func TestBatchPublishes(t *testing.T) {
	memory := purse(allMemory)
	s := begun(t, &memory)
	for _, channel := range []string{"a", "b"} {
		queues(t, s, plain, &command.Publish{Channel: channel}, "+QUEUED ")
	}
	b, _ := s.Exec(turn.DefaultLimits(), func() {})
	if !b.Publishes() || !b.Empty() {
		t.Error("it does not publish, or concerns keys")
	}
	var channels string
	b.Publish(func(p *command.Publish) command.Reply {
		channels += p.Channel
		return command.Integer(int64(len(channels)))
	})
	if got := written(func(w *resp.Writer) { b.Write.Done(w, turn.Result{}) }); channels != "ab" || got != "*2 :1 :2 " {
		t.Errorf("published to %s, answered %s", channels, got)
	}
}
