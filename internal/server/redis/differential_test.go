package redis

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

var (
	diffCommands = flag.Int("diff.commands", 6000, "how many commands TestSameAsRedis generates in each protocol")
	diffSeed     = flag.Uint64("diff.seed", 0, "seed of TestSameAsRedis; 0: a new one")
)

// TestSameAsRedis sends the same generated commands to turnlog and to a real
// redis-server, in pipelines, and compares every reply and the final keyspace.
//
//	go test ./internal/server/redis -run TestSameAsRedis -diff.commands 200000 -diff.seed 7
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
			d := differ{t: t, ours: dial(t, s.addr()), real: dial(t, real),
				g: generator{rand.New(rand.NewPCG(seed, 1))}}
			d.other = &differ{t: t, ours: dial(t, s.addr()), real: dial(t, real), g: d.g}
			d.both("FLUSHALL")
			d.ours.do("HELLO", proto)
			d.real.do("HELLO", proto)
			for n := 0; n < *diffCommands && !t.Failed(); {
				n += d.pipeline()
				if d.g.IntN(40) == 0 {
					d.expiry()
				}
				if d.g.IntN(5) == 0 {
					n += d.watching()
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
	queued     [][]string // what both have queued since MULTI
	other      *differ    // a second connection, which interferes
}

// pipeline sends some commands at once and compares the replies.
func (d *differ) pipeline() int {
	// A pipeline must not take longer than the sides have time: their clocks are
	// compared within slack.
	n := 1 + d.g.IntN(60)
	batch := make([][]string, n)
	for i := 0; i < n; i++ {
		batch[i] = d.g.command()
		if d.g.IntN(15) == 0 {
			block := d.g.transaction()
			i += copy(batch[i:], block) - 1
		}
	}
	batch = append(batch, []string{"DISCARD"}) // if the batch has cut a transaction
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

// watching makes a transaction with watched keys, with which the other
// connection may interfere.
func (d *differ) watching() int {
	keys := []string{"WATCH", d.g.anyKey(), d.g.anyKey()}
	d.both(keys...)
	n := d.g.IntN(2)
	var between []string
	if n > 0 {
		between = d.g.interference()
		d.other.both(between...)
	}
	if d.g.IntN(8) == 0 {
		d.both("UNWATCH")
	}
	block := d.g.transaction()
	for _, args := range block {
		d.both(args...)
	}
	d.both("DISCARD")
	if d.t.Failed() {
		d.t.Logf("%.200q, then from the other connection %.300q", keys, between)
	}
	return n + len(block)
}

// slack is how far times may differ, in milliseconds.
const slack = 5000

func (d *differ) compare(args []string, ours, real resp.Value) {
	d.t.Helper()
	name := strings.ToUpper(args[0])
	switch {
	case name == "EXEC" && len(ours.Elems) == len(d.queued) && len(real.Elems) == len(d.queued):
		for i, args := range d.queued {
			d.compareOne(args, ours.Elems[i], real.Elems[i])
		}
	case show(ours) == "QUEUED" && show(real) == "QUEUED":
		d.queued = append(d.queued, args)
		return
	default:
		d.compareOne(args, ours, real)
	}
	if name == "EXEC" || name == "DISCARD" {
		d.queued = nil
	}
}

func (d *differ) compareOne(args []string, ours, real resp.Value) {
	d.t.Helper()
	name := strings.ToUpper(args[0])
	unit := int64(1000)
	switch name {
	case "KEYS", "HKEYS", "HVALS", "SMEMBERS", "SINTER", "SUNION", "SDIFF":
		sortElems(ours)
		sortElems(real)
	case "HGETALL":
		sortPairs(ours)
		sortPairs(real)
	case "HSCAN", "SSCAN", "ZSCAN":
		if len(ours.Elems) == 2 && len(real.Elems) == 2 {
			if show(ours.Elems[0]) != `"0"` || show(real.Elems[0]) != `"0"` {
				return // each in steps of its own
			}
			order := sortPairs
			if name == "SSCAN" {
				order = sortElems
			}
			order(ours.Elems[1])
			order(real.Elems[1])
		}
	case "DBSIZE":
		if ours.Kind == resp.Integer && real.Kind == resp.Integer && ours.Int <= real.Int {
			return // Redis counts what has expired until it comes across it
		}
	case "PTTL", "PEXPIRETIME":
		unit = 1
		fallthrough
	case "TTL", "EXPIRETIME":
		if ours.Kind == resp.Integer && real.Kind == resp.Integer && ours.Int >= 0 && real.Int >= 0 &&
			near(ours.Int, real.Int, slack/unit) {
			return
		}
	}
	if name[:1] == "Z" && sameNumbers(ours, real) {
		return
	}
	if a, b := show(ours), show(real); a != b {
		d.t.Errorf("%q\nturnlog %.300s\n  redis %.300s", args, a, b)
	}
}

// sameNumbers compares replies in which scores are written by different rules:
// Redis 7.0 writes 17 digits, 7.2 and turnlog no more than needed.
func sameNumbers(a, b resp.Value) bool {
	if a.Kind != b.Kind || len(a.Elems) != len(b.Elems) {
		return false
	}
	for i := range a.Elems {
		if !sameNumbers(a.Elems[i], b.Elems[i]) {
			return false
		}
	}
	if show(a) == show(b) || len(a.Elems) > 0 {
		return true
	}
	x, err1 := strconv.ParseFloat(a.Text(), 64)
	y, err2 := strconv.ParseFloat(b.Text(), 64)
	return err1 == nil && err2 == nil && x == y
}

// sortPairs sorts names, each with what follows it.
func sortPairs(v resp.Value) {
	if v.Kind != resp.Array && v.Kind != resp.Map {
		return
	}
	var pairs [][]resp.Value
	for pair := range slices.Chunk(slices.Clone(v.Elems), 2) {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(a, b []resp.Value) int { return strings.Compare(string(a[0].Str), string(b[0].Str)) })
	copy(v.Elems, slices.Concat(pairs...))
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
	d.both("KEYS", "*")
	keys := d.ours.do("KEYS", "*")
	d.ours.expect(strconv.Itoa(len(keys.Elems)), "DBSIZE")
	// Redis counts a key that has expired until it has removed it.
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) &&
		d.real.do("DBSIZE").Int != int64(len(keys.Elems)); {
	}
	d.real.expect(strconv.Itoa(len(keys.Elems)), "DBSIZE")
	for _, k := range keys.Elems {
		key := string(k.Str)
		d.both("PEXPIRETIME", key)
		d.both("TYPE", key)
		d.both(map[string][]string{
			"list": {"LRANGE", key, "0", "-1"}, "string": {"GET", key}, "hash": {"HGETALL", key},
			"set":  {"SMEMBERS", key},
			"zset": {"ZRANGE", key, "0", "-1", "WITHSCORES"}, "stream": {"XRANGE", key, "-", "+"},
		}[d.ours.do("TYPE", key).Text()]...)
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
