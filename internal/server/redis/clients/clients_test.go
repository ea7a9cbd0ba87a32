package clients

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/auth"
)

// shown is a connection whose id, addresses and start are those of the lines of Redis below.
func shown(id uint64, port int, change func(*Client)) *Client {
	c := &Client{ID: id, Remote: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port},
		Local: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 17999}, Started: start,
		Blocked: func() bool { return false }}
	c.SetProtocol(2)
	c.SetUser(nil, auth.Login{}, "default")
	change(c)
	return c
}

var start = time.Unix(1_700_000_000, 0)

// fields returns the names of a line's fields in order, and what they say.
func fields(line string) (names []string, values map[string]string) {
	values = map[string]string{}
	for _, field := range strings.Fields(line) {
		name, value, _ := strings.Cut(field, "=")
		names, values[name] = append(names, name), value
	}
	return names, values
}

// A line has the fields that redis-server 7.0.15 printed for a connection in the same state, in its order.
// Those that tell of Redis's own memory have other values.
func TestLinesAreThoseOfRedis(t *testing.T) {
	for _, c := range []struct {
		client *Client
		redis  string
	}{
		{shown(3, 58778, func(c *Client) {
			c.SetName("bob")
			c.SetNoEvict(true)
			c.SetNamespace("3")
			c.Received(start, "client|list")
		}), "id=3 addr=127.0.0.1:58778 laddr=127.0.0.1:17999 fd=8 name=bob age=0 idle=0 flags=e db=3 sub=0 psub=0 " +
			"ssub=0 multi=-1 qbuf=13 qbuf-free=20461 argv-mem=10 multi-mem=0 rbs=16384 rbp=16384 obl=0 oll=0 omem=0 " +
			"tot-mem=37658 events=r cmd=client|list user=default redir=-1 resp=2"},
		{shown(4, 58784, func(c *Client) {
			c.Received(start, "psubscribe")
			c.SetSubscriptions(1, 1)
		}), "id=4 addr=127.0.0.1:58784 laddr=127.0.0.1:17999 fd=9 name= age=0 idle=0 flags=P db=0 sub=1 psub=1 " +
			"ssub=0 multi=-1 qbuf=0 qbuf-free=20474 argv-mem=0 multi-mem=0 rbs=16384 rbp=16384 obl=0 oll=0 omem=0 " +
			"tot-mem=37712 events=r cmd=psubscribe user=default redir=-1 resp=2"},
		{shown(5, 58788, func(c *Client) {
			c.Blocked = func() bool { return true }
			c.Received(start, "blpop")
		}), "id=5 addr=127.0.0.1:58788 laddr=127.0.0.1:17999 fd=10 name= age=0 idle=0 flags=b db=0 sub=0 psub=0 " +
			"ssub=0 multi=-1 qbuf=0 qbuf-free=20474 argv-mem=7 multi-mem=0 rbs=16384 rbp=16384 obl=0 oll=0 omem=0 " +
			"tot-mem=37663 events=r cmd=blpop user=default redir=-1 resp=2"},
	} {
		line := c.client.Line(start)
		names, got := fields(line)
		wantNames, want := fields(c.redis)
		if len(names) < len(wantNames) || strings.Join(names[:len(wantNames)], " ") != strings.Join(wantNames, " ") {
			t.Errorf("the fields are %s, in Redis %s", names, wantNames)
		}
		same := "id addr laddr name age idle flags db sub psub ssub multi events cmd user redir resp"
		for _, name := range strings.Fields(same) {
			if got[name] != want[name] {
				t.Errorf("%s=%s, in Redis %s: %s", name, got[name], want[name], line)
			}
		}
	}
}

// Times are whole seconds, and a namespace without a number shows as database 0.
func TestLineOfAnOlderConnection(t *testing.T) {
	c := shown(7, 1, func(c *Client) {
		c.SetNamespace("support")
		c.Received(start.Add(5*time.Second), "get")
		c.Received(start.Add(7*time.Second), "")
		c.SetLibrary("redis-py")
		c.SetLibraryVersion("6.4.0")
	})
	_, got := fields(c.Line(start.Add(9900 * time.Millisecond)))
	for name, want := range map[string]string{"age": "9", "idle": "2", "db": "0", "cmd": "get", "flags": "N",
		"lib-name": "redis-py", "lib-ver": "6.4.0"} {
		if got[name] != want {
			t.Errorf("%s=%s, want %s", name, got[name], want)
		}
	}
	_, got = fields(shown(8, 1, func(*Client) {}).Line(start))
	if got["cmd"] != "NULL" {
		t.Errorf("cmd=%s before any command, want NULL", got["cmd"])
	}
}

// The errors are those of redis-server 7.0.15.
func TestFiltersAreParsedAsByRedis(t *testing.T) {
	for args, want := range map[string]string{
		"ID 0":                                "ERR client-id should be greater than 0",
		"ID x":                                "ERR client-id should be greater than 0",
		"TYPE foo":                            "ERR Unknown client type 'foo'",
		"SKIPME maybe":                        "ERR syntax error",
		"FOO 1":                               "ERR syntax error",
		"ADDR 1.2.3.4:1 SKIPME":               "ERR syntax error",
		"TYPE master":                         "",
		"ADDR 1.2.3.4:5 ID 99":                "",
		"user default skipme YES type Pubsub": "",
	} {
		if _, err := ParseFilter(arguments(args)); string(err) != want {
			t.Errorf("CLIENT KILL %s: %q, in Redis %q", args, err, want)
		}
	}
}

func arguments(line string) (args [][]byte) {
	for _, arg := range strings.Fields(line) {
		args = append(args, []byte(arg))
	}
	return args
}

// A filter selects the connections for which all its parts hold.
func TestFilters(t *testing.T) {
	plain := shown(3, 58778, func(*Client) {})
	subscriber := shown(4, 58784, func(c *Client) {
		c.SetSubscriptions(0, 1)
		c.SetUser(nil, auth.Login{}, "bot")
	})
	for args, want := range map[string][2]bool{ // plain, subscriber
		"":                                {true, true},
		"ID 3":                            {true, false},
		"ADDR 127.0.0.1:58784":            {false, true},
		"LADDR 127.0.0.1:17999":           {true, true},
		"LADDR 127.0.0.1:58784":           {false, false},
		"TYPE pubsub":                     {false, true},
		"TYPE normal":                     {true, false},
		"TYPE replica":                    {false, false},
		"USER bot":                        {false, true},
		"USER bot TYPE normal":            {false, false},
		"ID 4 ADDR 127.0.0.1:58784":       {false, true},
		"ID 3 ADDR 127.0.0.1:58784":       {false, false},
		"SKIPME no LADDR 127.0.0.1:17999": {true, true},
	} {
		f, err := ParseFilter(arguments(args))
		if err != "" {
			t.Fatalf("%s: %s", args, err)
		}
		if got := [2]bool{f.Match(plain), f.Match(subscriber)}; got != want {
			t.Errorf("%q selects %v, want %v", args, got, want)
		}
		if f.SkipMe == strings.HasPrefix(args, "SKIPME no") {
			t.Errorf("%q: SkipMe is %v", args, f.SkipMe)
		}
	}
}

// A connection that is to end is not listed any more.
func TestVanish(t *testing.T) {
	c := shown(3, 1, func(*Client) {})
	if !c.Listed() {
		t.Error("it is not listed at first")
	}
	if c.Vanish(); c.Listed() {
		t.Error("it is listed after its last request")
	}
}
