package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// After an attempt that may have been carried out, the write is refused for good only if the state machine refuses the
// next one after it has looked at the ids. What a node refuses before that decides nothing.
func TestSettle(t *testing.T) {
	decided := map[turn.Kind]bool{turn.NotFound: true, turn.Exists: true, turn.Conflict: true, turn.IDReused: true,
		turn.Unknown: true}
	for k := turn.Internal; k <= turn.Forbidden; k++ {
		err := turn.Errorf(k, "why")
		if got := settle(false, err); turn.KindOf(got) != k {
			t.Errorf("%v of the first attempt: %v", k, got)
		}
		want := turn.Unknown
		if decided[k] {
			want = k
		}
		if got := settle(true, err); turn.KindOf(got) != want || !errors.Is(got, err) {
			t.Errorf("%v after an attempt without an answer: %v, want %v", k, got, want)
		}
	}
}

func TestErrorReplies(t *testing.T) {
	for text, want := range map[string]turn.Error{
		"CONFLICT revision=17 it changed":   {Kind: turn.Conflict, Message: "it changed", Revision: 17},
		"CONFLICT revision=17":              {Kind: turn.Conflict, Revision: 17},
		"UNKNOWN_OUTCOME x":                 {Kind: turn.Unknown, Message: "x"},
		"ERR max number of clients reached": {Kind: turn.Unavailable, Message: "max number of clients reached"},
		"ERR max":                           {Kind: turn.Invalid, Message: "ERR max"},
		"NOAUTH who":                        {Kind: turn.Unauthorized, Message: "who"},
		"WRONGPASS who":                     {Kind: turn.Unauthorized, Message: "who"},
		"NOPERM no":                         {Kind: turn.Forbidden, Message: "no"},
		"LOADING wait":                      {Kind: turn.Unavailable, Message: "wait"},
		"OOM wait":                          {Kind: turn.Overloaded, Message: "wait"},
		"READONLY full":                     {Kind: turn.ReadOnly, Message: "full"},
		"MISCONF full":                      {Kind: turn.ReadOnly, Message: "full"},
		"WRONGTYPE Operation against":       {Kind: turn.WrongType, Message: "Operation against"},
		"EXECABORT Transaction discarded":   {Kind: turn.Invalid, Message: "EXECABORT Transaction discarded"},
	} {
		if got := errorReply(resp.Error(text)); *got != want {
			t.Errorf("%s: %+v, want %+v", text, *got, want)
		}
	}
}

// An error says that the context ended, once, and keeps its kind.
func TestGaveUp(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{"127.0.0.1:1"}})
	ctx, cancel := context.WithCancel(t.Context())
	why := turn.Errorf(turn.Unavailable, "no leader")
	if err := c.gaveUp(ctx, why); err != error(why) {
		t.Errorf("the context has not ended: %v", err)
	}
	cancel()
	err := c.gaveUp(ctx, why)
	if turn.KindOf(err) != turn.Unavailable || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if again := c.gaveUp(ctx, err); again != err {
		t.Errorf("said twice: %v", again)
	}
}

// What a late repetition could undo is not repeated.
func TestRepeatedVerbs(t *testing.T) {
	for v := range verbs {
		want := never
		switch verb(v) {
		case vAppend, vReplace, vTx:
			want = identified
		case vGetFields, vAllFields, vRead, vTail, vInfo, vGetMeta, vList, vCluster, vTrace:
			want = harmless
		}
		if verbs[v].again != want || newRequest(verb(v)).again != want {
			t.Errorf("%s may be repeated: %v, want %v", verbs[v].command, verbs[v].again, want)
		}
	}
}

// A ttl never ends early, whatever fraction of a millisecond it has.
func TestRounding(t *testing.T) {
	for d, want := range map[int64]int64{0: 0, 1: 1, 999_999: 1, 1_000_000: 1, 1_000_001: 2, -1: 0, -1_000_000: -1} {
		if got := millis(time.Duration(d)); got != want {
			t.Errorf("%d ns are %d ms, want %d", d, got, want)
		}
	}
	const limit = int64(1<<63-1) / 1000
	for s, want := range map[int64]int64{0: 0, 1: 1000, -1: -1000, limit - 1: (limit - 1) * 1000, limit: 1<<63 - 1,
		limit + 1: 1<<63 - 1, -limit: -1 << 63, -limit + 1: (-limit + 1) * 1000} {
		if got := unixMilli(time.Unix(s, 0)); got != want {
			t.Errorf("second %d is %d ms, want %d", s, got, want)
		}
	}
}

// Answers that cannot be read are errors, not empty answers.
func TestMalformedAnswers(t *testing.T) {
	text := resp.Value{Kind: resp.BulkString, Str: []byte("x")}
	list := func(vs ...resp.Value) resp.Value { return resp.Value{Kind: resp.Array, Elems: vs} }
	name := func(s string) resp.Value { return resp.Value{Kind: resp.BulkString, Str: []byte(s)} }
	short := list(text, list(list(text, text, text)))
	short.Elems[0].Str = []byte("messages")
	for what, err := range map[string]error{
		"result":               second(decodeResult(text)),
		"message of a result":  second(decodeResult(short)),
		"messages":             second(decodeMessages(text)),
		"append without seqs":  second(decodeAppended(list())),
		"append, no revision":  second(decodeAppended(list(name("first_seq"), resp.Value{Kind: resp.Integer, Int: 1}))),
		"append, a number":     second(decodeAppended(resp.Value{Kind: resp.Integer, Int: 1})),
		"history":              second(decodeHistory(text)),
		"history without any":  second(decodeHistory(list())),
		"message of a history": second(decodeHistory(short)),
		"session":              second(decodeSession(text, turn.Key{})),
		"metadata, odd":        second(decodeMeta(list(text))),
		"metadata, no map":     second(decodeMeta(resp.Value{Kind: resp.BulkString, Elems: []resp.Value{text, text}})),
		"cluster":              second(decodeCluster(text)),
	} {
		if turn.KindOf(err) != turn.Unknown { // it may be the answer to a write
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Connections begin with the user, or with the one that a password alone belongs to.
func TestGreeting(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "[HELLO 3]"},
		{Config{Password: "p"}, "[HELLO 3 AUTH default p]"},
		{Config{Username: "ann", Password: "p"}, "[HELLO 3 AUTH ann p]"},
	} {
		f := newFake(t, steps(appended))
		c.cfg.Addrs, c.cfg.Namespace = []string{f.addr()}, "ns"
		client := newTestClient(t, c.cfg)
		if _, err := client.Session("s").Append(t.Context(), msg("a")); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(<-f.greetings, <-f.greetings); got != c.want+" [TURN.NS ns]" {
			t.Errorf("it begins with %s, want %s", got, c.want)
		}
	}
}
