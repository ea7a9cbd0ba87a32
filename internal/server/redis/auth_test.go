package redis

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/cursors"
	"github.com/turnlog/turnlog/internal/server/redis/transaction"
	"github.com/turnlog/turnlog/turn"
)

// Requests before and after authentication are answered with Redis's own words.
func TestAuthenticationSameAsRedis(t *testing.T) {
	real := realRedis(t)
	admin := dial(t, real)
	if version := admin.do("INFO", "server").Text(); !strings.Contains(version, "redis_version:7.0.") {
		t.Skip("the words about permissions differ between the versions of Redis; these are those of 7.0")
	}
	admin.expect("OK", "ACL", "SETUSER", "bob", "on", ">"+passwordOf("bob"), "~t1:*", "resetchannels", "&t1:*", "+@all")
	admin.expect("OK", "ACL", "SETUSER", "ro", "on", ">"+passwordOf("ro"), "~*", "resetchannels", "+@all",
		"-@write", "-@admin")
	admin.expect("OK", "ACL", "SETUSER", "default", ">"+passwordOf("default"))
	_, users := newUsersFile(t,
		testUser{"default", "admin", "['*']", ""},
		testUser{"bob", "write", "['*']", "prefixes: ['t1:']"},
		testUser{"ro", "read", "['*']", ""})
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	for _, line := range strings.Split(`
GET x|NOSUCH a|GET|PING|PING x|ECHO a|RESET|ACL WHOAMI|CLIENT SETNAME x|MULTI|EXEC|COMMAND COUNT|SELECT 1|SELECT x|INFO
HELLO|HELLO 2|HELLO 3|HELLO 9|HELLO x|HELLO 2 AUTH bob|HELLO 2 AUTH bob bad|HELLO 2 SETNAME a|HELLO 9 AUTH bob bad|GET x
AUTH|AUTH a b c|AUTH bad|AUTH bob bad|AUTH nosuch bad|AUTH default bad|AUTH bob @bob|ACL WHOAMI|ACL|ACL FOO|ACL WHOAMI x|AUTH bob bad|ACL WHOAMI|AUTH @default|ACL WHOAMI|RESET|ACL WHOAMI
AUTH bob @bob|GET x|GET t1:x|MGET t1:x x|MSET t1:a b x y|DEL x|WATCH x|WATCH t1:x|MULTI|GET x|EXEC|MULTI|GET t1:x|SET t1:x 1|EXEC|GET|SET x|NOSUCH|COMMAND GETKEYS get x|XREAD STREAMS t1:a x 0 0|XREAD STREAMS t1:a 0|TYPE t1:x|UNWATCH|DISCARD
AUTH ro @ro|SET x y|GET x|SET x|DEL x|EXPIRE x 1|CLIENT NO-EVICT on|CLIENT KILL ID 99999|CONFIG GET maxmemory|CONFIG SET a b|FLUSHALL|MULTI|SET x y|GET x|EXEC|CLIENT GETNAME|PING|ACL WHOAMI
AUTH ro @ro|HELLO 2|HELLO 2 AUTH bob @bob|ACL WHOAMI|HELLO 2 AUTH default @default SETNAME a|ACL WHOAMI|CLIENT GETNAME|CLIENT KILL USER nosuch|CLIENT KILL USER ro`, "\n") {
		d := differ{t: t, ours: dial(t, s.addr()), real: dial(t, real)}
		for _, request := range strings.Split(line, "|") {
			words := strings.Fields(request)
			for i, w := range words {
				if name, ok := strings.CutPrefix(w, "@"); ok {
					words[i] = passwordOf(name)
				}
			}
			switch {
			case len(words) == 0:
			case words[0] == "HELLO" && !strings.HasPrefix(show(d.real.do(words...)), "-"):
				if got := show(d.ours.do(words...)); strings.HasPrefix(got, "-") { // else it tells a version
					t.Errorf("%q: %s", words, got)
				}
			default:
				d.both(words...)
			}
		}
	}
	for _, bytes := range []string{"*11\r\n", "*2\r\n$3\r\nGET\r\n$16385\r\n",
		"*3\r\n$4\r\nAUTH\r\n$3\r\nbob\r\n$16384\r\n" + strings.Repeat("x", 16384) + "\r\nQUIT\r\n"} {
		if ours, theirs := exchange(t, s.addr(), bytes), exchange(t, real, bytes); ours != theirs {
			t.Errorf("%.40q: %s, Redis: %s", bytes, ours, theirs)
		}
	}
}

func TestLogin(t *testing.T) {
	_, users := newUsersFile(t, testUser{"default", "admin", "['*']", ""}, testUser{"ann", "write", "['0', 'eu']", ""})
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	c := dial(t, s.addr())
	c.expect("-"+string(command.ErrNoAuth), "LLEN", "k")
	c.expect("OK", "AUTH", "ann", passwordOf("ann"))
	c.expect(`"ann"`, "ACL", "WHOAMI")
	c.expect("1", "RPUSH", "k", strings.Repeat("x", 20<<10)) // larger than a stranger may send
	c.expect("OK", "TURN.NS", "eu")
	c.expect("-"+string(command.ErrNoDBPerm), "TURN.NS", "us")
	c.expect("-"+string(command.ErrNoDBPerm), "SELECT", "1")
	c.expect(`"eu"`, "TURN.NS")
	c.expect("RESET", "RESET")
	c.expect("-"+string(command.ErrNoAuth), "LLEN", "k")
	if v := c.do("HELLO", "3", "AUTH", "ann", passwordOf("ann"), "SETNAME", "me"); v.Kind != resp.Map {
		t.Errorf("HELLO: %s", show(v))
	}
	c.expect("1", "LLEN", "k")
	root := s.as(t, "default")
	if list := root.do("CLIENT", "LIST").Text(); !strings.Contains(list, "name=me ") ||
		!strings.Contains(list, "user=ann ") {
		t.Errorf("CLIENT LIST: %s", list)
	}
	root.expect("1", "CLIENT", "KILL", "USER", "ann")
	c.expectClosed()
	// In one pipeline: what follows AUTH is done as that user.
	p := dial(t, s.addr())
	p.send("AUTH", "ann", passwordOf("ann"))
	p.send("RPUSH", "k", "y")
	p.send("AUTH", "ann", "wrong")
	p.send("LLEN", "k")
	if got := show(p.receive()) + " " + show(p.receive()) + " " + show(p.receive()) + " " +
		show(p.receive()); got != "OK 2 -"+string(errWrongPass)+" 2" {
		t.Errorf("pipeline: %s", got)
	}
}

// A right that a user loses is lost to its connections at once, whatever they are doing.
func TestReloadTakesRightsAway(t *testing.T) {
	ann := testUser{"ann", "write", "['0']", ""}
	file, users := newUsersFile(t, ann, testUser{"root", "admin", "['*']", ""})
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	reload := func(us ...testUser) {
		t.Helper()
		file.write(us...)
		if err := users.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	c, queueing, waiting := s.as(t, "ann"), s.as(t, "ann"), s.as(t, "ann")
	c.expect("1", "RPUSH", "k", "x")
	queueing.expect("OK", "MULTI")
	queueing.expect("QUEUED", "RPUSH", "k", "y")
	waiting.send("TURN.TAIL", "k", "AFTER", "1", "BLOCK", "60000")
	waiting.w.Flush()
	eventually(t, "TURN.TAIL waits",
		func() bool { return strings.Contains(s.as(t, "root").do("CLIENT", "LIST").Text(), "cmd=turn.tail") })

	unchanged := s.as(t, "ann")
	unchanged.expect("OK", "MULTI")
	unchanged.expect("QUEUED", "LLEN", "k")
	reload(ann, testUser{"root", "admin", "['*']", ""}, testUser{"bob", "read", "['0']", ""})
	unchanged.expect("[1]", "EXEC") // somebody else's rights have changed

	ann.right = "read"
	reload(ann, testUser{"root", "admin", "['*']", ""})
	c.expect("-"+string(command.ErrNoCommandPerm(s.table.Lookup("rpush"))), "RPUSH", "k", "y")
	c.expect("1", "LLEN", "k")
	queueing.expect("-"+string(transaction.ErrExecAbort), "EXEC")

	ann.rest = "prefixes: ['other']"
	reload(ann, testUser{"root", "admin", "['*']", ""})
	c.expect("-"+string(command.ErrNoKeyPerm), "LLEN", "k")
	s.as(t, "root").expect("2", "RPUSH", "k", "password")
	if got := show(waiting.receive()); got != "-"+string(command.ErrNoKeyPerm) {
		t.Errorf("what waited is told %s", got)
	}

	reload(testUser{"root", "admin", "['*']", ""})
	c.expect("-"+string(command.ErrNoAuth), "LLEN", "k")
	c.expect("-"+string(errWrongPass), "AUTH", "ann", passwordOf("ann"))
	ann = testUser{"ann", "write", "['0']", ""}
	reload(ann, testUser{"root", "admin", "['*']", ""})
	c.expect("2", "LLEN", "k") // the user is back, with the same password
}

// A user that was removed is told so whatever the size of the request, and not that the
// request was malformed, as clients that never authenticated are.
func TestLargeRequestsOfARemovedUser(t *testing.T) {
	root, ann := testUser{"root", "admin", "['*']", ""}, testUser{"ann", "write", "['0']", ""}
	file, users := newUsersFile(t, root, ann)
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	for _, large := range [][]string{append([]string{"DEL"}, slices.Repeat([]string{"k"}, 20)...),
		{"RPUSH", "k", strings.Repeat("x", 20<<10)}} {
		file.write(root, ann)
		if err := users.Reload(); err != nil {
			t.Fatal(err)
		}
		c := s.as(t, "ann")
		file.write(root)
		if err := users.Reload(); err != nil {
			t.Fatal(err)
		}
		c.expect("-"+string(command.ErrNoAuth), "LLEN", "k")
		c.expect("-"+string(command.ErrNoAuth), large...)
		c.expectClosed()
		stranger := dial(t, s.addr())
		if got := show(stranger.do(large...)); !strings.HasPrefix(got, "-ERR Protocol error: unauthenticated") {
			t.Errorf("a client that never authenticated hears %s", got)
		}
	}
}

// Messages stop when their reader may not have them any more.
func TestReloadEndsSubscriptions(t *testing.T) {
	root := testUser{"root", "admin", "['*']", ""}
	ann, bob := testUser{"ann", "read", "['0']", "channels: [a, b]"}, testUser{"bob", "read", "['0']", "channels: [a]"}
	file, users := newUsersFile(t, root, ann, bob)
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	a, b := s.as(t, "ann"), s.as(t, "bob")
	a.do("SUBSCRIBE", "a", "b")
	b.do("SUBSCRIBE", "a")
	a.receive()
	b.expect("-"+string(command.ErrNoChanPerm), "PSUBSCRIBE", "*")
	b.expect("-"+string(command.ErrNoChanPerm), "SUBSCRIBE", "a", "c")
	b.expect(`["subscribe" "+switch-master" 2]`, "SUBSCRIBE", "+switch-master") // as clients of Sentinels do
	b.expect("-"+string(command.ErrNoChanPerm), "PSUBSCRIBE", "[a]")
	s.as(t, "root").expect("2", "PUBLISH", "a", "1")
	for _, c := range []*client{a, b} {
		if got := show(c.receive()); got != `["message" "a" "1"]` {
			t.Errorf("got %s", got)
		}
	}
	ann.rest = "channels: [b]"
	file.write(root, ann, bob)
	if err := users.Reload(); err != nil {
		t.Fatal(err)
	}
	s.UsersChanged()
	a.expectClosed()
	eventually(t, "the subscription has ended", func() bool { return s.Metrics().Connections <= 3 })
	s.as(t, "root").expect("1", "PUBLISH", "a", "2")
	if got := show(b.receive()); got != `["message" "a" "2"]` {
		t.Errorf("got %s", got)
	}
}

// Subscriptions stay with the user who was allowed to make them.
func TestSubscriptionsKeepTheirUser(t *testing.T) {
	_, users := newUsersFile(t, testUser{"root", "admin", "['*']", ""},
		testUser{"ann", "read", "['0']", "channels: [a]"}, testUser{"bob", "read", "['0']", "channels: [a]"})
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	c := s.as(t, "ann")
	c.do("HELLO", "3")
	c.do("SUBSCRIBE", "a")
	c.expect("-"+string(errSubscribed), "AUTH", "bob", passwordOf("bob"))
	c.expect("-"+string(errSubscribed), "HELLO", "3", "AUTH", "bob", passwordOf("bob"))
	c.expect("OK", "AUTH", "ann", passwordOf("ann"))
	c.do("UNSUBSCRIBE", "a")
	c.expect("OK", "AUTH", "bob", passwordOf("bob"))
}

// Channels belong to namespaces, whatever their names.
func TestChannelsStayInTheirNamespaces(t *testing.T) {
	_, users := newUsersFile(t, testUser{"root", "admin", "['*']", ""},
		testUser{"ann", "write", "['eu']", "channels: ['']"}, testUser{"bob", "write", "['3']", "channels: [a]"})
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	c := s.as(t, "ann") // in database 0, which is not hers
	c.expect("-"+string(command.ErrNoChanPerm), "SUBSCRIBE", "a")
	c.expect("-"+string(command.ErrNoChanPerm), "PSUBSCRIBE", "*")
	c.expect("-"+string(command.ErrNoChanPerm), "PUBLISH", "a", "1")
	c.expect("OK", "TURN.NS", "eu")
	c.expect("0", "PUBLISH", "a", "1")
	s.as(t, "bob").expect("0", "PUBLISH", "a", "1")
}

// Clients go where +switch-master says, with their passwords: no client can publish it.
func TestSwitchMasterCannotBeForged(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c := dial(t, s.addr())
	for _, ns := range []string{"0", "7"} {
		c.do("SELECT", ns)
		c.expect("-"+string(command.ErrClusterChannel), "PUBLISH", "+switch-master",
			"mymaster 127.0.0.1 1 10.6.6.6 6379")
	}
	c.do("MULTI")
	c.do("PUBLISH", "+switch-master", "x")
	if got := c.do("EXEC"); !strings.Contains(show(got), string(command.ErrClusterChannel)) &&
		!strings.HasPrefix(show(got), "-EXECABORT") {
		t.Errorf("in a transaction: %s", show(got))
	}
}

// Listings show a user no keys of others.
func TestListingsAreNarrowed(t *testing.T) {
	_, users := newUsersFile(t, testUser{"root", "admin", "['*']", ""},
		testUser{"ann", "read", "['0']", "prefixes: ['a:', 'b:']"})
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	root, ann := s.as(t, "root"), s.as(t, "ann")
	for _, k := range []string{"a", "a:1", "a:2", "b:1", "b:2", "c:1"} {
		root.do("RPUSH", k, "x")
	}
	ann.expect(`["a:1" "a:2" "b:1" "b:2"]`, "KEYS", "*")
	ann.expect(`["b:1" "b:2"]`, "KEYS", "b*")
	ann.expect(`[]`, "KEYS", "c*")
	ann.expect(`["0" ["a:1" "a:2" "b:1" "b:2"]]`, "SCAN", "0", "COUNT", "100")
	var seen []string
	cursor := "0"
	for {
		v := ann.do("SCAN", cursor, "COUNT", "1")
		for _, k := range v.Elems[1].Elems {
			seen = append(seen, k.Text())
		}
		if cursor = v.Elems[0].Text(); cursor == "0" || len(seen) > 10 {
			break
		}
	}
	if fmt.Sprint(seen) != "[a:1 a:2 b:1 b:2]" {
		t.Errorf("SCAN: %v", seen)
	}
	// A cursor that stands for a key of others tells nothing about it.
	for _, k := range []string{"c:1", "c:2"} {
		ann.expect("-"+string(command.ErrLostCursor), "SCAN", fmt.Sprint(cursors.Number("0", k)))
	}
	root.expect(`["c:1"]`, "KEYS", "c*")
	if got := show(ann.do("TURN.LIST")); strings.Contains(got, `"c:1"`) || strings.Contains(got, `"a"`) ||
		!strings.Contains(got, `"b:2"`) {
		t.Errorf("TURN.LIST: %s", got)
	}
	for _, k := range []string{"a:1", "c:1", "b:2"} {
		root.do("TURN.META", k, "SET", "label.user", "u1")
	}
	if got := show(ann.do("TURN.LIST", "LABEL", "user", "u1")); strings.Contains(got, `"c:1"`) ||
		!strings.Contains(got, `"b:2"`) || strings.Index(got, `"b:2"`) > strings.Index(got, `"a:1"`) {
		t.Errorf("TURN.LIST LABEL: %s", got)
	}
	if got := show(ann.do("TURN.LIST", "LABEL", "user", "u1", "PREFIX", "c")); strings.Contains(got, `"c:1"`) {
		t.Errorf("TURN.LIST LABEL of others' prefix: %s", got)
	}
	if got := ann.do("INFO", "keyspace").Text(); strings.Contains(got, "db0") {
		t.Errorf("INFO: %s", got)
	}
	if got := root.do("INFO", "keyspace").Text(); !strings.Contains(got, "db0:keys=6") {
		t.Errorf("INFO: %s", got)
	}
}

// A client that does not authenticate is disconnected.
func TestStrangersAreBounded(t *testing.T) {
	_, users := newUsersFile(t, testUser{"ann", "write", "['0']", ""})
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users, ReadTimeout: 200 * time.Millisecond})
	known, stranger := s.quicklyAs(t, "ann"), dial(t, s.addr())
	stranger.expectClosed()
	known.expect("PONG", "PING")
}

// Authorising a request makes no garbage.
func TestAuthorisingAllocatesNothing(t *testing.T) {
	_, users := newUsersFile(t, testUser{"ann", "write", "['0']", "prefixes: ['a:', 'b:']"})
	s := New(Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users, Listener: listen(t)})
	defer s.cfg.Listener.Close()
	nc, other := net.Pipe()
	defer nc.Close()
	defer other.Close()
	c := s.newConn(nc, s.cfg.Users, s.admission.Admit())
	if err := c.logIn([]byte("ann"), []byte(passwordOf("ann"))); err != "" {
		t.Fatal(err)
	}
	for _, line := range []string{"RPUSH b:1 x", "LRANGE a:1 0 -1", "MSET a:1 x b:1 y", "XREAD STREAMS a:1 b:1 0 0",
		"TURN.APPEND a:" + strings.Repeat("x", 200) + " MSG i p", "PING"} {
		args := words(line)
		cmd, err := s.table.Find(args)
		if err != "" {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() {
			if err := c.authorise(cmd, args); err != "" {
				t.Errorf("%s: %s", line, err)
			}
		}); n != 0 {
			t.Errorf("%.20s: %v allocations", line, n)
		}
	}
}

func BenchmarkAuthorise(b *testing.B) {
	_, users := newUsersFile(b, testUser{"ann", "write", "['0']", "prefixes: ['a:', 'b:']"})
	e := openEngine(b, turn.DefaultLimits())
	args := words("RPUSH b:1 x")
	for _, with := range []bool{false, true} {
		cfg := Config{Engine: e, Listener: listen(b)}
		if with {
			cfg.Users = users
		}
		s := New(cfg)
		nc, _ := net.Pipe()
		c := s.newConn(nc, s.cfg.Users, s.admission.Admit())
		if with {
			c.logIn([]byte("ann"), []byte(passwordOf("ann")))
		}
		cmd, _ := s.table.Find(args)
		b.Run(fmt.Sprintf("users=%v", with), func(b *testing.B) {
			for b.Loop() {
				if err := c.authorise(cmd, args); err != "" {
					b.Fatal(err)
				}
			}
		})
	}
}

func words(line string) (args [][]byte) {
	for _, w := range strings.Fields(line) {
		args = append(args, []byte(w))
	}
	return args
}

// Who sends a request without TLS to a port with TLS is told so.
func TestRequestWithoutTLS(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Listener: listenTLS(t)})
	c := dial(t, s.addr())
	if got := show(c.do("HELLO", "3")); got != "-ERR this port takes TLS only" {
		t.Errorf("%s", got)
	}
	c.expectClosed()
}
