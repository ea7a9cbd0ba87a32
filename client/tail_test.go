package client

import (
	"context"
	"testing"

	"github.com/turnlog/turnlog/resp"
)

// page answers a TURN.READ of a session that ends at last with the messages
// from first on, and a TURN.TAIL with nothing.
func page(first, last int) func([]string, *resp.Writer) {
	return func(args []string, w *resp.Writer) {
		if args[0] == "TURN.TAIL" {
			w.Array(0)
			return
		}
		w.Map(3)
		w.BulkString("incarnation")
		w.Int(7)
		w.BulkString("last_seq")
		w.Int(int64(last))
		w.BulkString("messages")
		w.Array(last - first + 1)
		for seq := first; seq <= last; seq++ {
			w.Array(4)
			w.Int(int64(seq))
			w.Int(0)
			w.BulkString("")
			w.BulkString("x")
		}
	}
}

// TestTailOnALaggingNode: the leader answers the first read of a connection, the
// node itself the later ones. One that was frozen for a while shows an older
// state then; the tail must not take that for another session and begin anew.
func TestTailOnALaggingNode(t *testing.T) {
	pages := []func([]string, *resp.Writer){page(1, 3), page(2, 1), page(2, 1), page(4, 5)}
	reads := 0
	f := newFake(t, func(args []string, w *resp.Writer) bool {
		pages[min(reads, len(pages)-1)](args, w)
		if args[0] == "TURN.READ" {
			reads++
		}
		return true
	})
	c := newTestClient(t, Config{Addrs: []string{f.addr()}})
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	want := uint64(1)
	for m, err := range c.Session("s").Tail(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Seq != want {
			t.Fatalf("seq %d after %d", m.Seq, want-1)
		}
		if want++; want > 5 {
			break
		}
	}
}
