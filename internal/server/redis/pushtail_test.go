package redis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/transaction"
	"github.com/turnlog/turnlog/turn"
)

// tailed is what a client was pushed.
type tailed struct {
	c           *client
	next        uint64 // seq that is due
	incarnation int64
}

// frame receives a push frame and checks that nothing is missing or repeated. It
// returns the payloads.
func (d *tailed) frame() (payloads []string) {
	d.c.t.Helper()
	v := d.c.receive()
	if v.Kind != resp.Push || len(v.Elems) != 4 || string(v.Elems[0].Str) != "turn.tail" {
		d.c.t.Fatalf("came %s", show(v))
	}
	if inc := v.Elems[2].Int; inc != d.incarnation {
		d.incarnation, d.next = inc, 1
	}
	for _, m := range v.Elems[3].Elems {
		if uint64(m.Elems[0].Int) != d.next {
			d.c.t.Fatalf("message %d came when %d was due", m.Elems[0].Int, d.next)
		}
		d.next++
		payloads = append(payloads, string(m.Elems[3].Str))
	}
	return payloads
}

func TestTailPush(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c, w := dial(t, s.addr()), dial(t, s.addr())
	c.expect("-INVALID PUSH needs RESP3: say HELLO 3 before", "TURN.TAIL", "s", "PUSH")
	c.do("HELLO", "3")
	c.expect("-INVALID BLOCK and PUSH exclude each other", "TURN.TAIL", "s", "PUSH", "BLOCK", "5")
	c.do("MULTI")
	c.expect("-"+string(transaction.ErrNotWithin), "TURN.TAIL", "s", "PUSH")
	c.do("DISCARD")
	w.do("RPUSH", "s", "one", "two", "three")
	c.expect("OK", "TURN.TAIL", "s", "AFTER", "1", "PUSH")
	d := tailed{c: c, next: 2}
	d.incarnation = -1
	v := c.receive()
	d.incarnation, d.next = v.Elems[2].Int, 4
	if got := show(v.Elems[3].Elems[0].Elems[3]); len(v.Elems[3].Elems) != 2 || got != `"two"` {
		t.Errorf("came %s", show(v))
	}
	c.expect("3", "LLEN", "s") // other commands go on
	w.do("LPUSH", "s", "four")
	if got := d.frame(); got[0] != "four" {
		t.Errorf("came %q", got)
	}
	before := d.incarnation
	w.do("DEL", "s")
	if got := d.frame(); d.incarnation != 0 || len(got) != 0 {
		t.Errorf("after DEL: incarnation %d, %q", d.incarnation, got)
	}
	w.do("RPUSH", "s", "recreated")
	if got := d.frame(); d.incarnation == 0 || d.incarnation == before || got[0] != "recreated" {
		t.Errorf("after a new RPUSH: incarnation %d, %q", d.incarnation, got)
	}
	w.do("SET", "s", "a string")
	if d.frame(); d.incarnation != 0 {
		t.Errorf("incarnation %d of a string", d.incarnation)
	}
	c.expect("1", "TURN.UNTAIL", "s", "other")
	w.do("DEL", "s")
	w.do("RPUSH", "s", "unheard")
	c.expect("0", "TURN.UNTAIL")
	// A client that was away says which incarnation it knew.
	c.do("TURN.TAIL", "s", "AFTER", "1", "INCARNATION", fmt.Sprint(before), "PUSH")
	d = tailed{c: c, next: 1}
	if got := d.frame(); got[0] != "unheard" {
		t.Errorf("came %q", got)
	}
	c.expect("RESET", "RESET")
	w.do("RPUSH", "s", "unheard, too")
	c.expect("PONG", "PING")
}

// A client that has all messages gets only those that come: it does not begin again, although it
// does not say which incarnation it knew.
func TestTailPushFromTheEnd(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c, w := dial(t, s.addr()), dial(t, s.addr())
	c.do("HELLO", "3")
	w.do("RPUSH", "s", "one", "two", "three")
	c.expect("OK", "TURN.TAIL", "s", "AFTER", "3", "PUSH")
	w.do("RPUSH", "s", "four")
	v := c.receive()
	ms := v.Elems[3].Elems
	if len(ms) != 1 || ms[0].Elems[0].Int != 4 || show(ms[0].Elems[3]) != `"four"` {
		t.Errorf("behind message 3 came %s", show(v))
	}
}

// Tails push everything once and in order while writers write and the leader's
// node stops.
func TestTailPushAcrossLeaders(t *testing.T) {
	ms := openCluster(t)
	leader, others := leaderOf(t, ms)
	const messages = 300
	c, w := dial(t, others[0].addr()), dial(t, others[1].addr())
	c.do("HELLO", "3")
	c.expect("OK", "TURN.TAIL", "s", "COUNT", "7", "PUSH")
	written := make(chan bool)
	defer func() { <-written }()
	go func() {
		defer close(written)
		for i := range messages {
			if i == messages/3 {
				go leader.stop()
			}
			w.do("RPUSH", "s", strconv.Itoa(i))
		}
	}()
	d := tailed{c: c, next: 1}
	for seen := 0; seen < messages; {
		for _, p := range d.frame() {
			if p != strconv.Itoa(seen) {
				t.Fatalf("%s came when %d was due", p, seen)
			}
			seen++
		}
	}
}

// A tail waits for a client that does not read, and others are not disturbed.
func TestTailPushIsBounded(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c, w := dial(t, s.addr()), dial(t, s.addr())
	c.do("HELLO", "3")
	c.expect("OK", "TURN.TAIL", "s", "PUSH")
	for range 60 {
		w.do("RPUSH", "s", strings.Repeat("x", 500_000))
	}
	if sent := s.wires.Sent.Load(); sent > 25<<20 {
		t.Errorf("%d MiB were sent to a client that does not read", sent>>20)
	}
	d := tailed{c: c, next: 1}
	for d.next <= 60 {
		d.frame()
	}
	args := []string{}
	for i := range maxTails {
		args = append(args, fmt.Sprint("s", i))
	}
	for _, key := range args[1:] {
		c.expect("OK", "TURN.TAIL", key, "PUSH")
	}
	c.expect("-TOO_LARGE a connection can follow at most 100 sessions", "TURN.TAIL", args[0], "PUSH")
	c.expect("100", "TURN.UNTAIL")
}
