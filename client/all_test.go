package client

import (
	"testing"

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
