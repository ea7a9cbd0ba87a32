package redis

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/resp"
	"github.com/turnlog/turnlog/turn"
)

var (
	diffCommands = flag.Int("diff.commands", 3000, "how many commands TestSameAsRedis generates in each protocol")
	diffSeed     = flag.Uint64("diff.seed", 0, "seed of TestSameAsRedis; 0: a new one")
)

// TestSameAsRedis sends the same generated commands to turnlog and to a real
// redis-server, in pipelines, and compares every reply and the final keyspace.
//
//	go test ./server/redis -run TestSameAsRedis -diff.commands 200000 -diff.seed 7
func TestSameAsRedis(t *testing.T) {
	real := realRedis(t)
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	for _, proto := range []string{"2", "3"} {
		t.Run("RESP"+proto, func(t *testing.T) {
			seed := *diffSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			t.Logf("repeat with -diff.seed %d", seed)
			d := differ{t: t, ours: dial(t, s.addr()), real: dial(t, real), g: generator{rand.New(rand.NewPCG(seed, 1))}}
			d.both("FLUSHALL")
			d.ours.do("HELLO", proto)
			d.real.do("HELLO", proto)
			for n := 0; n < *diffCommands && !t.Failed(); {
				n += d.pipeline()
				if d.g.IntN(40) == 0 {
					d.expiry()
				}
			}
			d.keyspace()
		})
	}
}

type differ struct {
	t          *testing.T
	ours, real *client
	g          generator
}

// pipeline sends some commands at once and compares the replies.
func (d *differ) pipeline() int {
	// A pipeline must not take longer than the sides have time: their clocks are
	// compared within slack.
	n := 1 + d.g.IntN(60)
	batch := make([][]string, n)
	for i := range batch {
		batch[i] = d.g.command()
	}
	for _, c := range []*client{d.ours, d.real} {
		c.nc.SetDeadline(time.Now().Add(time.Minute))
		for _, args := range batch {
			c.send(args...)
		}
		if err := c.w.Flush(); err != nil {
			d.t.Fatal(err)
		}
	}
	for _, args := range batch {
		d.compare(args, d.ours.receive(), d.real.receive())
	}
	return n
}

func (d *differ) both(args ...string) {
	d.compare(args, d.ours.do(args...), d.real.do(args...))
}

// slack is how far times may differ, in milliseconds.
const slack = 5000

func (d *differ) compare(args []string, ours, real resp.Value) {
	d.t.Helper()
	name := strings.ToUpper(args[0])
	unit := int64(1000)
	switch name {
	case "KEYS":
		sortElems(ours)
		sortElems(real)
	case "PTTL", "PEXPIRETIME":
		unit = 1
		fallthrough
	case "TTL", "EXPIRETIME":
		if ours.Kind == resp.Integer && real.Kind == resp.Integer && ours.Int >= 0 && real.Int >= 0 && near(ours.Int, real.Int, slack/unit) {
			return
		}
	}
	if a, b := show(ours), show(real); a != b {
		d.t.Errorf("%q\nturnlog %.300s\n  redis %.300s", args, a, b)
	}
}

func near(a, b, slack int64) bool { return a-b <= slack && b-a <= slack }

func sortElems(v resp.Value) {
	slices.SortFunc(v.Elems, func(a, b resp.Value) int { return strings.Compare(string(a.Str), string(b.Str)) })
}

// expiry lets a key expire on both sides.
func (d *differ) expiry() {
	key := d.g.key()
	for _, c := range []*client{d.ours, d.real} {
		c.do("RPUSH", key, "x")
		c.do("PEXPIRE", key, "5")
		for deadline := time.Now().Add(10 * time.Second); c.do("EXISTS", key).Int != 0; {
			if time.Now().After(deadline) {
				d.t.Fatalf("%q does not expire", key)
			}
		}
	}
	d.both("LPUSH", key, "after")
	d.both("TTL", key)
}

func (d *differ) keyspace() {
	d.both("DBSIZE")
	d.both("KEYS", "*")
	keys := d.ours.do("KEYS", "*")
	for _, k := range keys.Elems {
		key := string(k.Str)
		d.both("LRANGE", key, "0", "-1")
		d.both("PEXPIRETIME", key)
		d.both("TYPE", key)
	}
	if a, b := scanAll(d.ours, "7"), scanAll(d.real, "7"); !slices.Equal(a, b) {
		d.t.Errorf("SCAN: turnlog %q, redis %q", a, b)
	}
}

func scanAll(c *client, count string) []string {
	var names []string
	for cursor := "0"; ; {
		v := c.do("SCAN", cursor, "COUNT", count)
		for _, e := range v.Elems[1].Elems {
			names = append(names, string(e.Str))
		}
		if cursor = string(v.Elems[0].Str); cursor == "0" {
			slices.Sort(names)
			return slices.Compact(names)
		}
	}
}

// generator makes commands.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func (g generator) key() string {
	return pick(g, "a", "b", "b:1", "b:2", "list", "Ключ", "sp ace", "bin\x00\xff\r\n", "[x]*?")
}

func (g generator) value() string {
	switch g.IntN(8) {
	case 0:
		return ""
	case 1:
		return "\x00\xff\r\n$-1\r\n"
	case 2:
		return strings.Repeat("long ", g.IntN(2000))
	default:
		return fmt.Sprintf(`{"n":%d}`, g.IntN(1000))
	}
}

func (g generator) values() []string {
	vs := make([]string, 1+g.IntN(5))
	for i := range vs {
		vs[i] = g.value()
	}
	return vs
}

// index is mostly a small number, and sometimes anything.
func (g generator) index() string {
	if g.IntN(10) > 0 {
		return strconv.Itoa(g.IntN(24) - 12)
	}
	return pick(g, "0", "-1", "1", "100", "-100", "abc", "", "1.5", " 1", "1 ", "01", "+1", "-0", "0x1",
		"9223372036854775807", "-9223372036854775808", "9223372036854775806", "-9223372036854775807", "9223372036854775808", "2147483648")
}

func (g generator) command() []string {
	args := g.wellFormed()
	switch g.IntN(40) {
	case 0:
		args = args[:len(args)-1]
	case 1:
		args = append(args, pick(g, "7", "x", "-1")) // not "": turnlog has no empty key
	}
	if len(args) == 0 {
		return []string{"PING"}
	}
	if g.IntN(4) == 0 {
		args[0] = strings.ToLower(args[0])
	}
	return args
}

func (g generator) wellFormed() []string {
	key := g.key()
	switch n := g.IntN(100); {
	case n < 24:
		return append([]string{pick(g, "RPUSH", "LPUSH", "RPUSHX", "LPUSHX"), key}, g.values()...)
	case n < 36:
		return []string{"LRANGE", key, g.index(), g.index()}
	case n < 42:
		return []string{pick(g, "LPOP", "RPOP"), key}
	case n < 48:
		return []string{pick(g, "LPOP", "RPOP"), key, g.index()}
	case n < 54:
		return []string{"LINDEX", key, g.index()}
	case n < 59:
		return []string{"LTRIM", key, g.index(), g.index()}
	case n < 64:
		return []string{pick(g, "LLEN", "TYPE", "EXISTS"), key}
	case n < 68:
		return []string{pick(g, "DEL", "UNLINK", "EXISTS"), key, g.key(), g.key()}
	case n < 84:
		return g.expiry(key)
	case n < 92:
		return []string{pick(g, "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "PERSIST"), key}
	case n < 95:
		return []string{"KEYS", pick(g, "*", "b:*", "?", "[ab]", "[^a]*", `\[x\]*`, "b:[0-9]", "*\xff*", "")}
	case n < 98:
		return []string{pick(g, "DBSIZE", "PING", "ECHO", "NOSUCH"), pick(g, "x", "0x", "-1")}[:1+g.IntN(2)]
	case n < 99:
		return []string{"ECHO", g.value()}
	default:
		return []string{"FLUSHDB", pick(g, "SYNC", "ASYNC", "x")}
	}
}

func (g generator) expiry(key string) []string {
	name := pick(g, "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT")
	at := time.Now().Add(time.Duration(g.IntN(100)+100) * time.Hour)
	var when string
	switch {
	case g.IntN(6) == 0:
		when = pick(g, "0", "-1", "-1000", "abc", "", "1.5", "9223372036854775807", "-9223372036854775808", "9223372036854775", "-9223372036854776")
	case name == "EXPIRE":
		when = strconv.FormatInt(int64(g.IntN(100)+100)*3600, 10)
	case name == "PEXPIRE":
		when = strconv.FormatInt(int64(g.IntN(100)+100)*3600_000, 10)
	case name == "EXPIREAT":
		when = strconv.FormatInt(at.Unix(), 10)
	default:
		when = strconv.FormatInt(at.UnixMilli(), 10)
	}
	args := []string{name, key, when}
	for g.IntN(3) == 0 {
		args = append(args, pick(g, "NX", "XX", "GT", "LT", "nx", "FOO"))
	}
	return args
}
