package client

import (
	"slices"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// fill appends so many messages with a text to a session.
func fill(t *testing.T, s Session, n int, text string) {
	t.Helper()
	for n > 0 {
		messages := make([]turn.NewMessage, min(n, 1000))
		for i := range messages {
			messages[i] = msg(text)
		}
		if _, err := s.Append(t.Context(), messages...); err != nil {
			t.Fatal(err)
		}
		n -= len(messages)
	}
}

// All never goes on with the messages of another session: it once read the end of one that took the place of the one
// that it had begun with, and took a deletion for the end.
func TestAllOfADeletedSession(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	for name, again := range map[string]int{"deleted": 0, "made again": 2 * pageMessages} {
		s := c.Session(name)
		fill(t, s, pageMessages+10, "first")
		var seen []string
		var last error
		for m, err := range s.All(t.Context(), 0) {
			if last = err; err != nil {
				break
			}
			if seen = append(seen, string(m.Data)); len(seen) == pageMessages {
				if _, err := s.Delete(t.Context()); err != nil {
					t.Fatal(err)
				}
				fill(t, s, again, "second")
			}
		}
		if !turn.Is(last, turn.Conflict) || len(seen) != pageMessages {
			t.Errorf("%s: %d messages, the last is %q, %v", name, len(seen), seen[len(seen)-1], last)
		}
	}
}

// What All returns can be ranged over again, from the same seq, also after a loop that was left.
func TestAllTwice(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	s := c.Session("s")
	fill(t, s, pageMessages+2, "x")
	all := s.All(t.Context(), 1)
	for _, leave := range []int{3, pageMessages + 1, pageMessages + 10} {
		var seqs []uint64
		for m, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			if seqs = append(seqs, m.Seq); len(seqs) == leave {
				break
			}
		}
		want := min(leave, pageMessages+1)
		if len(seqs) != want || seqs[0] != 2 || seqs[want-1] != uint64(want)+1 {
			t.Errorf("left after %d: %d messages, %v", leave, len(seqs), seqs[:min(len(seqs), 3)])
		}
	}
}

// A node that lags answers a stale read with less than another one has shown before: All, whose pages may come from
// several nodes, takes that neither for the end nor for a deletion.
func TestAllOfNodesThatLag(t *testing.T) {
	for name, lags := range map[string]func(*resp.Writer){
		"without the session":  func(w *resp.Writer) { page(w, 0, 0, false) },
		"with an earlier one":  func(w *resp.Writer) { page(w, 4, 90, true, 61) },
		"with less of the one": func(w *resp.Writer) { page(w, 5, 1, false) },
	} {
		reads := 0
		f := newFake(t, func(args []string, w *resp.Writer) bool {
			stale := slices.Contains(args, "CONSISTENCY")
			switch reads++; {
			case reads == 1:
				page(w, 5, 3, true, 1, 2)
			case stale:
				lags(w)
			default:
				page(w, 5, 3, false, 3)
			}
			return true
		})
		c := newTestClient(t, Config{Addrs: []string{f.addr()}})
		var seqs []uint64
		for m, err := range c.Session("s").Stale().All(t.Context(), 0) {
			if err != nil {
				t.Errorf("a node %s: %v", name, err)
				break
			}
			seqs = append(seqs, m.Seq)
		}
		if !slices.Equal(seqs, []uint64{1, 2, 3}) {
			t.Errorf("a node %s: messages %v", name, seqs)
		}
	}
}

// page writes the answer to a read.
func page(w *resp.Writer, incarnation, last int64, more bool, seqs ...int64) {
	w.Map(4)
	for _, field := range []struct {
		name string
		n    int64
	}{{"incarnation", incarnation}, {"last_seq", last}, {"more", map[bool]int64{true: 1}[more]}} {
		w.BulkString(field.name)
		w.Int(field.n)
	}
	w.BulkString("messages")
	w.Array(len(seqs))
	for _, seq := range seqs {
		w.Array(4)
		w.Int(seq)
		w.Int(17)
		w.BulkString("")
		w.BulkString("data")
	}
}
