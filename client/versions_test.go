package client

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// unknown is what a node answers to a command that it does not have.
func unknown(w *resp.Writer, args []string) bool {
	w.Error("ERR unknown command '" + args[0] + "', with args beginning with: '" + strings.Join(args[1:], "' '") + "' ")
	return true
}

// An older node does not have each command: the error says which one and what to do, and does not repeat what
// was sent.
func TestCommandThatTheServerDoesNotKnow(t *testing.T) {
	f := newFake(t, func(args []string, w *resp.Writer) bool { return unknown(w, args) })
	c := newTestClient(t, Config{Addrs: []string{f.addr()}})
	for command, call := range map[string]func(ctx context.Context) error{
		"TURN.TX": func(ctx context.Context) error {
			_, err := c.Transaction().Append("k", turn.NewMessage{Data: []byte("private")}).Commit(ctx)
			return err
		},
		"TURN.EDIT": func(ctx context.Context) error {
			_, err := c.Session("k").Edit(ctx, turn.MessageRef{Seq: 1}, []byte("private"))
			return err
		},
	} {
		f.requests()
		err := call(t.Context())
		if text := err.Error(); turn.KindOf(err) != turn.Invalid || strings.Contains(text, "private") ||
			!strings.Contains(text, "the server does not know "+command+",") ||
			!strings.Contains(text, "upgrade its nodes") {
			t.Errorf("%s: %v", command, err)
		}
		if n := len(f.requests()); n != 1 {
			t.Errorf("%s was sent %d times", command, n)
		}
	}
}

// After an attempt without an answer, a node that does not have the command says nothing of the first.
func TestRetryAtAnOlderNodeLeavesTheOutcomeUnknown(t *testing.T) {
	var attempts atomic.Int64
	f := newFake(t, func(args []string, w *resp.Writer) bool { return attempts.Add(1) > 1 && unknown(w, args) })
	c := newTestClient(t, Config{Addrs: []string{f.addr()}})
	_, err := c.Session("k").Append(t.Context(), turn.NewMessage{Data: []byte("private")})
	if turn.KindOf(err) != turn.Unknown || !strings.Contains(err.Error(), "the server does not know TURN.APPEND") {
		t.Error(err)
	}
}

// A server that is no turnlog, such as a Redis, is told from one that cannot be reached.
func TestServerThatIsNoTurnlog(t *testing.T) {
	err := dialError(t.Context(), &node{addr: "n1:7379"},
		resp.Error("ERR unknown command 'TURN.NS', with args beginning with: '0' "))
	if turn.KindOf(err) != turn.Invalid || !strings.Contains(err.Error(), "it is no turnlog") {
		t.Error(err)
	}
}

// A newer node may answer with more fields than this client knows, and with errors that it does not know.
func TestAnswersOfANewerServer(t *testing.T) {
	f := newFake(t, steps(
		func(w *resp.Writer) bool {
			w.Map(3)
			w.BulkString("novel")
			w.Array(2)
			w.Int(1)
			w.Null()
			w.BulkString("first_seq")
			w.Int(1)
			w.BulkString("revision")
			w.Int(7)
			return true
		},
		fails("QUOTA_OF_TOMORROW there is no more"),
	))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}})
	r, err := c.Session("k").Append(t.Context(), turn.NewMessage{Data: []byte("1")})
	if err != nil || r.First != 1 || r.Revision != 7 {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = c.Session("k").Append(t.Context(), turn.NewMessage{Data: []byte("2")})
	var e *turn.Error
	if !errors.As(err, &e) || e.Kind != turn.Invalid || !strings.Contains(err.Error(), "QUOTA_OF_TOMORROW") {
		t.Error(err)
	}
}
