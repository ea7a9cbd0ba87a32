package redis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// waits are the requests after which something of theirs:* may come later. A new
// command that waits or subscribes needs a line here.
var waits = map[string][]string{
	"blpop": {"BLPOP theirs:list 0"}, "brpop": {"BRPOP mine:none theirs:list 0"},
	"blmpop": {"BLMPOP 0 1 theirs:list LEFT"},
	"blmove": {"BLMOVE theirs:list mine:1 LEFT LEFT 0"}, "brpoplpush": {"BRPOPLPUSH theirs:list mine:1 0"},
	"xread":     {"XREAD BLOCK 0 STREAMS theirs:stream $"},
	"turn.tail": {"TURN.TAIL theirs:list AFTER 0 BLOCK 60000", "TURN.TAIL theirs:list AFTER 0 PUSH"},
	"subscribe": {"SUBSCRIBE theirs:channel"}, "psubscribe": {"PSUBSCRIBE theirs:*"},
	"wait": {"WAIT 1 1"}, "waitaof": {"WAITAOF 0 1 1"}, // these wait for nodes, and show nothing
}

// arrivals are what comes for them.
var arrivals = []string{"RPUSH theirs:list hidden", "XADD theirs:stream * f hidden", "PUBLISH theirs:channel hidden"}

// TestRightsLeaveThoseWhoWait: a client that waits for something, and may not have it any
// more when it comes, does not get it, and takes it from no other.
func TestRightsLeaveThoseWhoWait(t *testing.T) {
	root := testUser{"root", "admin", "['*']", ""}
	ann := testUser{"ann", "write", "['0']", "prefixes: ['theirs:', 'mine:']\n    channels: ['theirs:']"}
	file, users := newUsersFile(t, root, ann)
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	reload := func(us ...testUser) {
		t.Helper()
		file.write(us...)
		if err := users.Reload(); err != nil {
			t.Fatal(err)
		}
		s.UsersChanged()
	}
	losses := map[string][]testUser{
		"the user is removed":      {root},
		"the prefix is another":    {root, {"ann", "write", "['0']", "prefixes: ['mine:']\n    channels: ['mine:']"}},
		"the namespace is another": {root, {"ann", "write", "['1']", ""}},
	}
	r := s.as(t, "root")
	for _, cmd := range s.table.Slots {
		for _, line := range waits[cmd.Name] {
			for loss, left := range losses {
				t.Run(fmt.Sprintf("%s, %s", line, loss), func(t *testing.T) {
					reload(root, ann)
					r.do("DEL", "theirs:list", "theirs:stream")
					before := s.Metrics().Connections
					c := s.as(t, "ann")
					c.do("HELLO", "3")
					c.begin(r, line)
					reload(left...)
					for _, arrival := range arrivals {
						if v := r.do(strings.Fields(arrival)...); v.Err() != nil {
							t.Fatalf("%s: %v", arrival, v.Err())
						}
					}
					r.expect("1", "LLEN", "theirs:list")
					c.send("GET", "theirs:string")
					_ = c.w.Flush() // the connection may have been ended
					for {
						v, err := c.r.Next()
						if err != nil {
							break
						}
						got := show(v)
						if strings.Contains(got, "hidden") {
							t.Fatalf("gets %s", got)
						}
						if strings.HasPrefix(got, "-NO") {
							break
						}
					}
					c.nc.Close()
					eventually(t, "the connection has ended", func() bool { return s.Metrics().Connections <= before })
				})
			}
		}
		if (cmd.Is("blocking") || cmd.Is("pubsub") && strings.HasSuffix(cmd.Name, "subscribe") &&
			!strings.Contains(cmd.Name, "un")) && waits[cmd.Name] == nil {
			t.Errorf("%s: say in waits how it is called", cmd.Name)
		}
	}
}

// begin sends a request, and returns when it waits, or has been accepted.
func (c *client) begin(watcher *client, line string) {
	c.t.Helper()
	args := strings.Fields(line)
	if strings.HasPrefix(line, "WAIT") || strings.HasSuffix(line, "PUSH") || strings.Contains(line, "SUBSCRIBE") {
		if v := c.do(args...); v.Err() != nil {
			c.t.Fatalf("%s: %v", line, v.Err())
		}
		return
	}
	c.send(args...)
	if err := c.w.Flush(); err != nil {
		c.t.Fatal(err)
	}
	watcher.awaitBlocked(1)
}
