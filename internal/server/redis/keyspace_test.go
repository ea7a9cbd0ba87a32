package redis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A list that is too long for one answer is refused, never cut.
func TestRangeIsNeverCut(t *testing.T) {
	limits := turn.DefaultLimits()
	limits.ReadBytes = 10_000
	c := dial(t, open(t, Config{Engine: openEngine(t, limits)}).addr())
	for range 15 {
		c.do("RPUSH", "k", strings.Repeat("x", 1000))
	}
	if got := show(c.do("LRANGE", "k", "0", "-1")); !like("-TOO_LARGE …", got) {
		t.Errorf("got %.200s", got)
	}
	for _, part := range [][2]string{{"0", "8"}, {"9", "-1"}} {
		v := c.do("LRANGE", "k", part[0], part[1])
		if want := map[string]int{"0": 9, "9": 6}[part[0]]; len(v.Elems) != want {
			t.Errorf("LRANGE k %s %s has %d elements", part[0], part[1], len(v.Elems))
		}
	}
}

// An iteration goes on at another node, which knows nothing of it.
func TestScanGoesOnAtAnotherNode(t *testing.T) {
	e := openEngine(t, turn.DefaultLimits())
	a, b := dial(t, open(t, Config{Engine: e}).addr()), dial(t, open(t, Config{Engine: e}).addr())
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprintf("key:%03d", i))
		a.send("RPUSH", want[i], "x")
	}
	for range want {
		a.receive()
	}
	var got []string
	cursor := "0"
	for turn, node := 0, a; turn == 0 || cursor != "0"; turn++ {
		v := node.do("SCAN", cursor, "COUNT", "7", "MATCH", "key:*")
		cursor = string(v.Elems[0].Str)
		for _, e := range v.Elems[1].Elems {
			got = append(got, string(e.Str))
		}
		if node = a; turn%2 == 0 {
			node = b
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d keys: %q", len(got), got)
	}
}

// More keys than one log entry deletes.
func TestManyKeys(t *testing.T) {
	c := dial(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	const n = 2500
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("k%d", i)
		c.send("RPUSH", names[i], "x")
	}
	for range names {
		c.receive()
	}
	c.expect("2500", append([]string{"EXISTS"}, names...)...)
	c.expect("2200", append([]string{"DEL"}, names[:2200]...)...)
	c.expect("300", "DBSIZE")
	c.expect("OK", "FLUSHALL")
	c.expect("[]", "KEYS", "*")
}

// More long replies in a pipeline than may be in flight at once.
func TestManyLongReads(t *testing.T) {
	c := dial(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	long := strings.Repeat("x", 100_000)
	c.do("RPUSH", "k", long)
	const n = 200
	go func() {
		for range n {
			c.send("LRANGE", "k", "0", "-1")
			c.send("TURN.READ", "k", "LAST", "1")
			c.send("LLEN", "k")
		}
		c.w.Flush()
	}()
	for range n {
		for range 2 {
			if v, err := c.r.Next(); err != nil || !strings.Contains(show(v), long) {
				t.Fatalf("%.100s, %v", show(v), err)
			}
		}
		if v, err := c.r.Next(); err != nil || v.Int != 1 {
			t.Fatalf("%.100s, %v", show(v), err)
		}
	}
}
