package redis

import (
	"os"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/transaction"
	"github.com/turnlog/turnlog/turn"
)

// The page on Redis names the commands of turnlog, and those of publishing, that a transaction refuses to queue: these
// and no other ones.
func TestPageNamesWhatATransactionRefuses(t *testing.T) {
	page, err := os.ReadFile("../../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, row, found := strings.Cut(string(page), "| in a transaction: ")
	named, _, ended := strings.Cut(row, "|")
	if !found || !ended {
		t.Fatal("the page has no row of what transactions refuse")
	}
	arguments := map[string]string{
		"turn.append": "k MSG i x", "turn.read": "k", "turn.tail": "k", "turn.untail": "", "turn.info": "k",
		"turn.pop": "k", "turn.trim": "k KEEP 1", "turn.replace": "k FROM 1", "turn.edit": "k SEQ 1 x",
		"turn.remove": "k SEQ 1", "turn.clear": "k", "turn.delete": "k", "turn.fork": "k l", "turn.rename": "k l",
		"turn.meta": "k", "turn.expire": "k NEVER", "turn.retain": "k ALL", "turn.tx": "STEP 4 HSET h f v",
		"turn.list": "", "turn.erase": "PREFIX p", "turn.ns": "", "turn.cluster": "",
		"turn.trace": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "pubsub": "CHANNELS", "publish": "c x",
	}
	c := dial(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	for _, cmd := range command.NewTable().Slots {
		name, _, sub := strings.Cut(cmd.Name, "|")
		if sub || !strings.HasPrefix(name, "turn.") && name != "pubsub" && name != "publish" {
			continue
		}
		args, known := arguments[name]
		if !known {
			t.Errorf("%s: the test has no example of it", name)
			continue
		}
		c.do("MULTI")
		got := show(c.do(append([]string{name}, strings.Fields(args)...)...))
		c.do("DISCARD")
		want := "QUEUED"
		if strings.Contains(named, "`"+strings.ToUpper(name)+"`") {
			want = "-" + string(transaction.ErrNotWithin)
		}
		if got != want {
			t.Errorf("%s: %s, and by the page it is %s", name, got, want)
		}
	}
}
