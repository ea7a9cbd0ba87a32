package client

import (
	"context"
	"strconv"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
)

// ends answers a TURN.READ key AFTER n of a session whose last seq is last, and a
// TURN.TAIL with nothing.
func ends(last int, args []string, w *resp.Writer) {
	if args[0] == "TURN.TAIL" {
		w.Array(0)
		return
	}
	after, _ := strconv.Atoi(args[3])
	w.Map(3)
	w.BulkString("incarnation")
	w.Int(7)
	w.BulkString("last_seq")
	w.Int(int64(last))
	w.BulkString("messages")
	w.Array(max(0, last-after))
	for seq := after + 1; seq <= last; seq++ {
		w.Array(4)
		w.Int(int64(seq))
		w.Int(0)
		w.BulkString("")
		w.BulkString("x")
	}
}

// TestTailOnALaggingNode: the leader answers the first read of a connection, the
// node itself the later ones. One that was frozen for a while shows an older
// state then; the tail must not take that for another session and begin again.
func TestTailOnALaggingNode(t *testing.T) {
	lasts := []int{3, 1, 1, 5}
	reads := 0
	f := newFake(t, func(args []string, w *resp.Writer) bool {
		ends(lasts[min(reads, len(lasts)-1)], args, w)
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
