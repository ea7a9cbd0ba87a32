package redis

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/transaction"
	"github.com/turnlog/turnlog/turn"
)

// testUser is an entry of a users file. Its password is "password of NAME".
type testUser struct{ name, right, namespaces, rest string }

func passwordOf(name string) string { return "password of " + name }

// hashes are kept from one file to the next: making them takes time.
type usersFile struct {
	t      testing.TB
	path   string
	hashes map[string]string
}

func newUsersFile(t testing.TB, users ...testUser) (*usersFile, *auth.Users) {
	f := &usersFile{t: t, path: filepath.Join(t.TempDir(), "users.yaml"), hashes: make(map[string]string)}
	f.write(users...)
	opened, err := auth.Open(f.path, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return f, opened
}

func (f *usersFile) write(users ...testUser) {
	f.t.Helper()
	text := "version: 1\nusers:\n"
	if len(users) == 0 {
		text = "version: 1\n"
	}
	for _, u := range users {
		if f.hashes[u.name] == "" {
			hash, err := auth.HashPassword(passwordOf(u.name), rand.Reader)
			if err != nil {
				f.t.Fatal(err)
			}
			f.hashes[u.name] = hash
		}
		text += fmt.Sprintf("  - name: %s\n    passwords: ['%s']\n    right: %s\n    namespaces: %s\n", u.name,
			f.hashes[u.name], u.right, u.namespaces)
		if u.rest != "" {
			text += "    " + u.rest + "\n"
		}
	}
	if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// as opens a connection that is a user's; "": a stranger's.
func (s *Server) as(t testing.TB, user string) *client {
	t.Helper()
	c := dial(t, s.addr())
	if user != "" {
		c.expect("OK", "AUTH", user, passwordOf(user))
	}
	return c
}

// quicklyAs is as where a client has little time to authenticate: on a busy machine it is over before, and another one
// tries.
func (s *Server) quicklyAs(t testing.TB, user string) (c *client) {
	t.Helper()
	eventually(t, user+" authenticates", func() bool {
		c = dial(t, s.addr())
		c.send("AUTH", user, passwordOf(user))
		_ = c.w.Flush()
		v, err := c.r.Next()
		return err == nil && show(v) == "OK"
	})
	return c
}

// requests has for each command one that does something with the keys theirs:*,
// or with the server. A new command needs one here.
var requests = map[string]string{
	"hello": "HELLO 2", "auth": "AUTH excluded x", "select": "SELECT 0", "ping": "PING", "echo": "ECHO x",
	"quit": "QUIT", "reset": "RESET",
	"client|id": "CLIENT ID", "client|getname": "CLIENT GETNAME", "client|setname": "CLIENT SETNAME x",
	"client|setinfo": "CLIENT SETINFO LIB-NAME x",
	"client|info":    "CLIENT INFO", "client|list": "CLIENT LIST", "client|kill": "CLIENT KILL ID 987654",
	"client|no-evict": "CLIENT NO-EVICT ON",
	"client|no-touch": "CLIENT NO-TOUCH ON", "client|reply": "CLIENT REPLY ON",
	"client|unblock": "CLIENT UNBLOCK 987654", "client|tracking": "CLIENT TRACKING OFF",
	"client|getredir": "CLIENT GETREDIR", "client|help": "CLIENT HELP", "command": "COMMAND",
	"command|count": "COMMAND COUNT", "command|docs": "COMMAND DOCS get",
	"command|info": "COMMAND INFO get", "command|list": "COMMAND LIST", "command|getkeys": "COMMAND GETKEYS get x",
	"command|help": "COMMAND HELP",
	"config|get":   "CONFIG GET *", "config|set": "CONFIG SET a b", "config|help": "CONFIG HELP",
	"info": "INFO everything", "role": "ROLE", "time": "TIME",
	"wait": "WAIT 0 1", "waitaof": "WAITAOF 0 0 1", "module|list": "MODULE LIST", "module|help": "MODULE HELP",
	"readonly": "READONLY", "readwrite": "READWRITE",
	"cluster|info": "CLUSTER INFO", "cluster|nodes": "CLUSTER NODES", "cluster|slots": "CLUSTER SLOTS",
	"cluster|shards": "CLUSTER SHARDS",
	"cluster|links":  "CLUSTER LINKS", "cluster|myid": "CLUSTER MYID", "cluster|keyslot": "CLUSTER KEYSLOT x",
	"cluster|help": "CLUSTER HELP",
	"acl|whoami":   "ACL WHOAMI", "acl|help": "ACL HELP", "sentinel|masters": "SENTINEL MASTERS",
	"sentinel|master":                  "SENTINEL MASTER mymaster",
	"sentinel|get-master-addr-by-name": "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster",
	"sentinel|replicas":                "SENTINEL REPLICAS mymaster",
	"sentinel|slaves":                  "SENTINEL SLAVES mymaster", "sentinel|sentinels": "SENTINEL SENTINELS mymaster",
	"sentinel|help": "SENTINEL HELP",

	"del": "DEL mine:1 theirs:list", "unlink": "UNLINK mine:1 theirs:list", "exists": "EXISTS mine:1 theirs:list",
	"type":   "TYPE theirs:list",
	"expire": "EXPIRE theirs:list 5", "pexpire": "PEXPIRE theirs:list 5", "expireat": "EXPIREAT theirs:list 5",
	"pexpireat": "PEXPIREAT theirs:list 5",
	"ttl":       "TTL theirs:list", "pttl": "PTTL theirs:list", "expiretime": "EXPIRETIME theirs:list",
	"pexpiretime": "PEXPIRETIME theirs:list",
	"persist":     "PERSIST theirs:list", "keys": "KEYS *", "scan": "SCAN 0 COUNT 1000", "dbsize": "DBSIZE",
	"flushdb": "FLUSHDB", "flushall": "FLUSHALL",

	"get": "GET theirs:string", "set": "SET theirs:string x", "setex": "SETEX theirs:string 5 x",
	"psetex": "PSETEX theirs:string 5 x", "setnx": "SETNX theirs:new x",
	"getset": "GETSET theirs:string x", "getdel": "GETDEL theirs:string", "getex": "GETEX theirs:string PERSIST",
	"mget":   "MGET mine:1 theirs:string",
	"mset":   "MSET mine:1 x theirs:string x",
	"strlen": "STRLEN theirs:string", "incr": "INCR theirs:new", "decr": "DECR theirs:new",
	"incrby": "INCRBY theirs:new 2", "decrby": "DECRBY theirs:new 2",

	"blpop": "BLPOP mine:none theirs:list 1", "brpop": "BRPOP theirs:list 1",
	"lmpop": "LMPOP 2 mine:none theirs:list LEFT", "blmpop": "BLMPOP 1 1 theirs:list LEFT",
	"lmove": "LMOVE theirs:list mine:1 LEFT LEFT", "blmove": "BLMOVE theirs:list mine:1 LEFT LEFT 1",
	"rpoplpush": "RPOPLPUSH theirs:list mine:1", "brpoplpush": "BRPOPLPUSH theirs:list mine:1 1",
	"msetnx": "MSETNX mine:none x theirs:new x", "rpush": "RPUSH theirs:list x", "lpush": "LPUSH theirs:list x",
	"rpushx": "RPUSHX theirs:list x", "lpushx": "LPUSHX theirs:list x", "lpop": "LPOP theirs:list",
	"rpop": "RPOP theirs:list", "llen": "LLEN theirs:list", "lindex": "LINDEX theirs:list 0",
	"linsert": "LINSERT theirs:list BEFORE hidden x",
	"lset":    "LSET theirs:list 0 x", "lrem": "LREM theirs:list 0 hidden", "lrange": "LRANGE theirs:list 0 -1",
	"ltrim": "LTRIM theirs:list 1 0",

	"hset": "HSET theirs:hash f x", "hmset": "HMSET theirs:hash f x", "hsetnx": "HSETNX theirs:hash g x",
	"hget":  "HGET theirs:hash hidden",
	"hmget": "HMGET theirs:hash hidden", "hgetall": "HGETALL theirs:hash", "hdel": "HDEL theirs:hash hidden",
	"hexists": "HEXISTS theirs:hash hidden",
	"hlen":    "HLEN theirs:hash", "hstrlen": "HSTRLEN theirs:hash hidden", "hkeys": "HKEYS theirs:hash",
	"hvals":   "HVALS theirs:hash",
	"hincrby": "HINCRBY theirs:hash n 1", "hscan": "HSCAN theirs:hash 0",

	"sadd": "SADD theirs:set x", "srem": "SREM theirs:set hidden", "smembers": "SMEMBERS theirs:set",
	"sismember":  "SISMEMBER theirs:set hidden",
	"smismember": "SMISMEMBER theirs:set hidden", "scard": "SCARD theirs:set", "sscan": "SSCAN theirs:set 0",
	"sinter": "SINTER mine:none theirs:set", "sintercard": "SINTERCARD 2 mine:none theirs:set",
	"sinterstore": "SINTERSTORE mine:1 theirs:set", "sunion": "SUNION mine:none theirs:set",
	"sunionstore": "SUNIONSTORE theirs:new mine:none theirs:set", "sdiff": "SDIFF mine:none theirs:set",
	"sdiffstore": "SDIFFSTORE theirs:set mine:none",

	"zadd": "ZADD theirs:zset 1 x", "zincrby": "ZINCRBY theirs:zset 1 hidden", "zrem": "ZREM theirs:zset hidden",
	"zremrangebyrank": "ZREMRANGEBYRANK theirs:zset 0 -1", "zremrangebyscore": "ZREMRANGEBYSCORE theirs:zset -inf inf",
	"zremrangebylex": "ZREMRANGEBYLEX theirs:zset - +", "zpopmin": "ZPOPMIN theirs:zset",
	"zpopmax": "ZPOPMAX theirs:zset 2",
	"zscore":  "ZSCORE theirs:zset hidden",
	"zmscore": "ZMSCORE theirs:zset hidden", "zcard": "ZCARD theirs:zset", "zcount": "ZCOUNT theirs:zset -inf +inf",
	"zrank":    "ZRANK theirs:zset hidden",
	"zrevrank": "ZREVRANK theirs:zset hidden", "zrange": "ZRANGE theirs:zset 0 -1",
	"zrevrange":        "ZREVRANGE theirs:zset 0 -1",
	"zrangebyscore":    "ZRANGEBYSCORE theirs:zset -inf +inf",
	"zrevrangebyscore": "ZREVRANGEBYSCORE theirs:zset +inf -inf",
	"zrangebylex":      "ZRANGEBYLEX theirs:zset - +", "zrevrangebylex": "ZREVRANGEBYLEX theirs:zset + -",
	"zscan": "ZSCAN theirs:zset 0",

	"xadd": "XADD theirs:stream * f x", "xlen": "XLEN theirs:stream", "xrange": "XRANGE theirs:stream - +",
	"xrevrange": "XREVRANGE theirs:stream + -",
	"xdel":      "XDEL theirs:stream 1-1", "xtrim": "XTRIM theirs:stream MAXLEN 0",
	"xread": "XREAD COUNT 1 STREAMS mine:stream theirs:stream 0 0",

	"subscribe": "SUBSCRIBE theirs:channel", "psubscribe": "PSUBSCRIBE theirs:*", "publish": "PUBLISH theirs:channel x",
	"unsubscribe":  "UNSUBSCRIBE x",
	"punsubscribe": "PUNSUBSCRIBE x", "pubsub|channels": "PUBSUB CHANNELS",
	"pubsub|numsub": "PUBSUB NUMSUB theirs:channel", "pubsub|numpat": "PUBSUB NUMPAT", "pubsub|help": "PUBSUB HELP",

	"multi": "MULTI", "exec": "EXEC", "discard": "DISCARD", "watch": "WATCH theirs:list", "unwatch": "UNWATCH",

	"turn.append": "TURN.APPEND theirs:list MSG x y", "turn.read": "TURN.READ theirs:list",
	"turn.tail": "TURN.TAIL theirs:list", "turn.untail": "TURN.UNTAIL theirs:list",
	"turn.info": "TURN.INFO theirs:list",
	"turn.pop":  "TURN.POP theirs:list", "turn.trim": "TURN.TRIM theirs:list KEEP 0",
	"turn.edit": "TURN.EDIT theirs:list SEQ 1 x", "turn.remove": "TURN.REMOVE theirs:list SEQ 1",
	"turn.replace": "TURN.REPLACE theirs:list FROM 1", "turn.clear": "TURN.CLEAR theirs:list",
	"turn.delete": "TURN.DELETE theirs:list", "turn.fork": "TURN.FORK mine:1 theirs:fork",
	"rename": "RENAME mine:1 theirs:new", "renamenx": "RENAMENX theirs:list mine:1",
	"turn.rename": "TURN.RENAME theirs:list mine:1",
	"turn.meta":   "TURN.META theirs:list SET a b",
	"turn.retain": "TURN.RETAIN theirs:list MESSAGES 1",
	"turn.expire": "TURN.EXPIRE theirs:list PX 5", "turn.list": "TURN.LIST", "turn.erase": "TURN.ERASE PREFIX theirs:",
	"turn.tx": "TURN.TX STEP 3 TURN.RENAME mine:1 theirs:new",
	"turn.ns": "TURN.NS 0", "turn.cluster": "TURN.CLUSTER",
	"turn.trace": "TURN.TRACE 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}

// seed makes a key of each type, and no other.
func (c *client) seed() {
	lines := []string{
		"FLUSHALL", "RPUSH theirs:list hidden", "SET theirs:string hidden", "HSET theirs:hash hidden hidden",
		"SADD theirs:set hidden",
		"ZADD theirs:zset 1 hidden", "XADD theirs:stream 1-1 hidden hidden", "RPUSH mine:1 x",
	}
	for _, line := range lines {
		c.send(strings.Fields(line)...)
	}
	for _, line := range lines {
		if v := c.receive(); v.Err() != nil {
			c.t.Fatalf("%s: %v", line, v.Err())
		}
	}
}

// state is everything that stands in a namespace, but for the order of changes.
func state(t *testing.T, e Engine, namespace string) string {
	t.Helper()
	r, err := e.Query(t.Context(), &turn.Sessions{Namespace: namespace, Limit: 1000}, command.Linearizable)
	if err != nil {
		t.Fatal(err)
	}
	l, err := e.Query(t.Context(), &turn.Sessions{Namespace: namespace, Limit: 1000, List: true}, command.Linearizable)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%+v", append(r.Sessions, l.Sessions...))
}

// Every command of the table, sent by somebody who may not do it, alone and in a
// transaction, is refused or shows nothing, and changes nothing.
func TestEveryCommandIsAuthorised(t *testing.T) {
	_, users := newUsersFile(t,
		testUser{"root", "admin", "['*']", ""},
		testUser{"owner", "write", "['0']", "prefixes: ['theirs:', 'mine:']\n    channels: ['theirs:']"},
		testUser{"reader", "read", "['*']", ""},
		testUser{"foreigner", "write", "['elsewhere']", ""},
		testUser{"neighbour", "write", "['0']", "prefixes: ['mine:']"},
		testUser{"excluded", "admin", "[]", ""})
	e := openEngine(t, turn.DefaultLimits())
	s := open(t, Config{Engine: e, Users: users})
	root := s.as(t, "root")
	root.seed()
	before := state(t, e, "0")
	for _, cmd := range s.table.Slots {
		if cmd.Container() {
			continue
		}
		line := requests[cmd.Name]
		if line == "" {
			t.Errorf("%s: say in requests how it is called", cmd.Name)
			continue
		}
		if keyless := !cmd.HasKeys(); keyless == (cmd.Scope == command.ScopeUnstated) {
			t.Errorf("%s: either it has keys or a scope, which says what else it gets at", cmd.Name)
		}
		args := strings.Fields(line)
		for _, user := range []string{"", "reader", "foreigner", "neighbour", "excluded"} {
			want := refusal(cmd, user)
			got := show(s.as(t, user).do(args...))
			check(t, user, line, got, want)
			if user == "" || transaction.Passes(cmd) {
				continue
			}
			c := s.as(t, user)
			c.do("MULTI")
			queued := show(c.do(args...))
			if queued != "QUEUED" {
				queued = show(c.do("EXEC")) + queued
			} else {
				queued = show(c.do("EXEC"))
			}
			if want == "-NOPERM" {
				want = "-EXECABORT"
			}
			check(t, user, "MULTI, "+line, queued, want)
		}
		if after := state(t, e, "0"); after != before {
			t.Fatalf("%s changed something:\n%s\n%s", line, before, after)
		}
	}
	// And who may, may. These come last, since they change what there is.
	for _, cmd := range s.table.Slots {
		if cmd.Container() || cmd.Name == "quit" {
			continue
		}
		line := requests[cmd.Name]
		for _, user := range []string{"root", "owner"} {
			if now := state(t, e, "0"); now != before {
				root.seed()
				before = state(t, e, "0")
			}
			got := show(s.as(t, user).do(strings.Fields(line)...))
			mayNot := user == "owner" && (cmd.Right == auth.Admin || cmd.Scope == command.ScopeNamespace ||
				cmd.Scope == command.ScopeDatabases || cmd.Scope == command.ScopeChannels)
			if strings.HasPrefix(got, "-NO") != mayNot {
				t.Errorf("%s: %s gets %.100s", user, line, got)
			}
		}
	}
}

// refusal is how the reply must begin that a user gets who has nothing to do with
// the keys theirs:*; "": anything that does not show them.
func refusal(cmd *command.Command, user string) string {
	keys := cmd.HasKeys()
	switch {
	case cmd.BeforeAuth:
		return ""
	case user == "":
		return "-NOAUTH"
	case cmd.Is("admin") && !cmd.ForAll && user != "excluded":
		return "-NOPERM"
	case cmd.Scope == command.ScopeServer:
		return ""
	case cmd.Scope == command.ScopeShown && user == "neighbour":
		return ""
	case cmd.Scope == command.ScopeEntered && user == "neighbour", cmd.Scope == command.ScopeEntered &&
		user == "reader":
		return ""
	case user == "reader" && (keys || cmd.Scope != command.ScopeUnstated) && !cmd.Is("write") &&
		cmd.Scope != command.ScopeTold:
		return "anything"
	}
	return "-NOPERM"
}

func check(t *testing.T, user, line, got, want string) {
	t.Helper()
	if want == "anything" {
		return
	}
	if !strings.HasPrefix(got, want) || strings.Contains(got, "theirs") || strings.Contains(got, "hidden") {
		t.Errorf("%q: %s: %.200s; want %s", user, line, got, want)
	}
}
