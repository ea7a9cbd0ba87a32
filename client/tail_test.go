package client

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
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

// A tail takes answers of nodes that lag, of deleted sessions and of new ones under the same key.
func TestTailTakes(t *testing.T) {
	var got []uint64
	tl := &tail{after: 2, yield: func(m turn.Message, err error) bool {
		got = append(got, m.Seq)
		return m.Seq != 99
	}}
	history := func(incarnation, last uint64, seqs ...uint64) History {
		h := History{Incarnation: incarnation, Last: last}
		for _, s := range seqs {
			h.Messages = append(h.Messages, turn.Message{Seq: s})
		}
		return h
	}
	for i, step := range []struct {
		h     History
		got   []uint64
		after uint64
	}{
		{history(0, 0), nil, 0},                              // there is none yet, so 2 was of an earlier one
		{history(5, 2, 1, 2), []uint64{1, 2}, 2},             //
		{history(5, 2), nil, 2},                              // nothing new
		{history(5, 1, 1), nil, 2},                           // a node that lags
		{history(0, 0), nil, 2},                              // deleted, or a node that lags further
		{history(4, 9, 3, 4), nil, 2},                        // the session before, on such a node
		{history(5, 4, 3, 4), []uint64{3, 4}, 4},             //
		{history(6, 8, 5, 6, 7, 8), nil, 0},                  // another session: from its first message
		{history(6, 8, 1, 2), []uint64{1, 2}, 2},             //
		{history(6, 100, 98, 99, 100), []uint64{98, 99}, 99}, // the consumer has enough
	} {
		got = nil
		tl.take(step.h)
		if !slices.Equal(got, step.got) || tl.after != step.after || tl.done != (step.after == 99) {
			t.Errorf("step %d: got %v, after %d, done %v", i, got, tl.after, tl.done)
		}
	}
	tl = &tail{after: 2, yield: tl.yield}
	got = nil
	tl.take(history(5, 3, 3)) // the session that the caller knows
	if tl.take(history(6, 1, 1)); !slices.Equal(got, []uint64{3}) || tl.after != 0 {
		t.Errorf("a session after the caller's: got %v, after %d", got, tl.after)
	}
	tl = &tail{after: 2, yield: tl.yield}
	got = nil
	if tl.take(history(5, 1, 1)); got != nil || tl.after != 0 {
		t.Errorf("a shorter session than the caller's: got %v, after %d", got, tl.after)
	}
}
