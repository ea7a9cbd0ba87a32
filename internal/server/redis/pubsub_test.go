package redis

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/logtest"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
	"github.com/turnlog/turnlog/internal/server/redis/transaction"
	"github.com/turnlog/turnlog/turn"
)

var pubsubSteps = flag.Int("diff.pubsub", 1500, "how many steps TestPublishingSameAsRedis takes in each protocol")

// fence returns what comes before the answer to a PING of its own.
func (c *client) fence() (frames []resp.Value) {
	c.t.Helper()
	c.send("PING", "fence")
	for {
		v := c.receive()
		if s := show(v); s == `"fence"` || s == `["pong" "fence"]` {
			return frames
		}
		frames = append(frames, v)
	}
}

// kindOf tells pushes from arrays, too.
func framed(v resp.Value) string {
	if v.Kind == resp.Push {
		return ">" + show(v)
	}
	return show(v)
}

// TestPublishingSameAsRedis has some clients subscribe and publish, one step after
// another, on both sides, and compares every frame that any of them receives.
func TestPublishingSameAsRedis(t *testing.T) {
	real := realRedis(t)
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	for _, proto := range []string{"2", "3"} {
		t.Run("RESP"+proto, func(t *testing.T) {
			seed := *diffSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			t.Logf("repeat with -diff.seed %d", seed)
			g := generator{rand.New(rand.NewPCG(seed, 2))}
			var ours, theirs []*client
			for range 4 {
				ours, theirs = append(ours, dial(t, s.addr())), append(theirs, dial(t, real))
			}
			for i := range ours {
				ours[i].do("HELLO", proto)
				theirs[i].do("HELLO", proto)
			}
			for _, c := range []*client{ours[0], theirs[0]} {
				eventually(t, "earlier subscribers are gone", func() bool {
					return show(c.do("PUBSUB", "CHANNELS"))+show(c.do("PUBSUB", "NUMPAT")) == "[]0"
				})
			}
			for range *pubsubSteps {
				i := g.IntN(len(ours))
				batch := g.publishing()
				for _, args := range batch {
					ours[i].send(args...)
					theirs[i].send(args...)
				}
				for j := range ours {
					// The one that acts comes first, so that the others have what it published.
					k := (i + j) % len(ours)
					if a, b := frames(ours[k]), frames(theirs[k]); a != b {
						t.Fatalf("client %d after client %d sent %q:\nturnlog %s\n  redis %s", k, i, batch, a, b)
					}
				}
				if last := batch[len(batch)-1]; last[0] == "RESET" && proto == "3" {
					ours[i].do("HELLO", proto)
					theirs[i].do("HELLO", proto)
				}
			}
		})
	}
}

// frames returns what a client has received, in order. The order among several
// patterns, and among confirmations of an UNSUBSCRIBE without names, is anyone's.
func frames(c *client) string {
	var all, run []string
	for _, v := range c.fence() {
		f := framed(v)
		if len(v.Elems) > 0 {
			word := string(v.Elems[0].Str)
			if strings.HasSuffix(word, "unsubscribe") && len(v.Elems) == 3 && !v.Elems[1].IsNull() {
				f = word // its names come in any order
			}
			if word == "pmessage" {
				run = append(run, f)
				continue
			}
		}
		slices.Sort(run)
		all, run = append(append(all, run...), f), nil
	}
	slices.Sort(run)
	return strings.Join(append(all, run...), " ")
}

// publishing makes a few commands about subscriptions; RESET comes last only.
func (g generator) publishing() (batch [][]string) {
	channel := func() string { return pick(g, "a", "b", "b:1", "bin\x00\xff", "news") }
	pattern := func() string { return pick(g, "*", "b*", "?", "[ab]", "", "n[^x]ws") }
	for range 1 + g.IntN(4) {
		args := pick(g, [][]string{
			{"SUBSCRIBE", channel()}, {"SUBSCRIBE", channel(), channel()}, {"UNSUBSCRIBE", channel()}, {"UNSUBSCRIBE"},
			{"UNSUBSCRIBE", channel(), channel()},
			{"PSUBSCRIBE", pattern()}, {"PUNSUBSCRIBE", pattern()}, {"PUNSUBSCRIBE"},
			{"PUBLISH", channel(), g.value()}, {"PUBLISH", channel(), g.value()}, {"PUBLISH", channel(), g.value()},
			{"PUBLISH", channel()},
			{"PUBSUB", "NUMSUB", channel(), channel()}, {"PUBSUB", "NUMPAT"}, {"PUBSUB", "NUMSUB"},
			{"PUBSUB", "CHANNELS", "nosuch"}, {"PUBSUB", "CHANNELS", "a"},
			{"PUBSUB", "CHANNELS", "a", "b"}, {"PUBSUB", "FOO"}, {"PUBSUB"}, {"SUBSCRIBE"}, {"PSUBSCRIBE"}, {"PING"},
			{"PING", "a", "b"}, {"GET", "nosuch"}, {"CLIENT", "GETNAME"},
			{"nosuch"}, {"SELECT", pick(g, "0", "7")}, {"EXEC"}, {"DISCARD"},
		}...)
		batch = append(batch, args)
	}
	// Redis 7.0 writes what a client publishes to itself into the reply to EXEC.
	silence := [][]string{{"UNSUBSCRIBE"}, {"PUNSUBSCRIBE"}, {"MULTI"}}
	switch g.IntN(12) {
	case 0:
		batch = append(append(batch, silence...), []string{"SET", "k", "v"}, []string{"PUBLISH", channel(), "within"},
			[]string{"PUBLISH", channel()}, []string{"EXEC"})
	case 1:
		batch = append(append(batch, silence...), []string{"PUBLISH", channel(), "within"}, []string{"GET", "k"},
			[]string{"PUBLISH", channel(), "again"}, []string{"EXEC"})
	case 2:
		batch = append(append(batch, silence...), []string{"PUBLISH", channel(), "never"}, []string{"DISCARD"})
	case 3:
		batch = append(batch, []string{"RESET"})
	}
	return batch
}

// A message comes to the subscribers of every node, in the order of its
// publisher, and its publisher learns how many.
func TestPublishingInCluster(t *testing.T) {
	ms := openCluster(t)
	const each = 300
	var subs []*client
	for i, m := range ms {
		c := dial(t, m.addr())
		if i == 1 {
			c.do("HELLO", "3")
		}
		c.expect(`["subscribe" "news" 1]`, "SUBSCRIBE", "news")
		c.expect(`["psubscribe" "ne*" 2]`, "PSUBSCRIBE", "ne*")
		subs = append(subs, c)
	}
	ask := dial(t, ms[2].addr())
	ask.do("SELECT", "5") // as in Redis, databases share the channels
	ask.expect(`["news" 3 "none" 0]`, "PUBSUB", "NUMSUB", "news", "none")
	ask.expect(`["news"]`, "PUBSUB", "CHANNELS")
	ask.expect("1", "PUBSUB", "NUMPAT")
	eventually(t, "all receive a message", func() bool { return ask.do("PUBLISH", "news", "hello").Int == 6 })
	done := make(chan bool)
	for i, m := range ms {
		p := dial(t, m.addr())
		go func() {
			defer func() { done <- true }()
			for n := range each {
				p.send("PUBLISH", "news", fmt.Sprint(i, " ", n))
			}
			for range each {
				// Fewer than 6 if a node has taken its time to answer.
				if v := p.receive(); v.Int < 2 || v.Int > 6 {
					t.Errorf("%s received a message, not 6", show(v))
				}
			}
		}()
	}
	for range ms {
		<-done
	}
	for i, c := range subs {
		next := make([]int, len(ms))
		byPattern := 0
		all := func() bool { return next[0] == each && next[1] == each && next[2] == each && byPattern == 3*each }
		for !all() { // a node that is slow to answer has its messages later
			v := c.receive()
			if string(v.Elems[0].Str) != "message" {
				if string(v.Elems[3].Str) != "hello" {
					byPattern++
				}
				continue
			}
			var from, n int
			if k, _ := fmt.Sscan(string(v.Elems[2].Str), &from, &n); k != 2 {
				continue // hello
			}
			if n != next[from] {
				t.Fatalf("subscriber %d: message %d of publisher %d came when %d was due", i, n, from, next[from])
			}
			next[from]++
		}
	}
	ms[0].stop()
	eventually(t, "a message goes to two nodes",
		func() bool { return ask.do("PUBLISH", "news", "one node less").Int == 4 })
}

// Channels of a namespace that was reached by name are its own.
func TestChannelsOfNamespaces(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	a, b, p := dial(t, s.addr()), dial(t, s.addr()), dial(t, s.addr())
	a.do("HELLO", "3")
	a.do("SUBSCRIBE", "c")
	b.do("TURN.NS", "tenant")
	b.do("PSUBSCRIBE", "*")
	p.expect("1", "PUBLISH", "c", "to all databases")
	p.do("SELECT", "9")
	p.expect("1", "PUBLISH", "c", "to all databases")
	p.do("TURN.NS", "tenant")
	p.expect("1", "PUBLISH", "c", "to the tenant")
	p.expect(`[]`, "PUBSUB", "CHANNELS")
	p.do("TURN.NS", "16")
	p.expect("0", "PUBLISH", "c", "to no client")
	p.expect("0", "PUBSUB", "NUMPAT")
	if n := len(a.fence()); n != 2 {
		t.Errorf("%d messages came, not 2", n)
	}
	if f := b.fence(); len(f) != 1 || show(f[0]) != `["pmessage" "*" "c" "to the tenant"]` {
		t.Errorf("came: %v", f)
	}
	// RESP3 clients can change the namespace while they are subscribed.
	a.do("TURN.NS", "tenant")
	a.expect(`["unsubscribe" "c" 1]`, "UNSUBSCRIBE", "c")
	a.expect(`["subscribe" "c" 2]`, "SUBSCRIBE", "c")
	p.do("SELECT", "0")
	p.expect("1", "PUBLISH", "c", "still")
	a.send("UNSUBSCRIBE")
	if f := a.fence(); len(f) != 3 || show(f[0]) != `["message" "c" "still"]` || show(f[2]) != `["unsubscribe" "c" 0]` {
		t.Errorf("came: %v", f)
	}
}

// Who receives a message can read what its publisher wrote before it.
func TestPublishAfterWrites(t *testing.T) {
	ms := openCluster(t)
	_, others := leaderOf(t, ms)
	sub, reader, p := dial(t, others[0].addr()), dial(t, others[0].addr()), dial(t, others[1].addr())
	sub.do("SUBSCRIBE", "c")
	for i := range 30 {
		p.send("RPUSH", "log", "x")
		p.send("PUBLISH", "c", "x")
		p.receive()
		sub.receive()
		reader.expect(strconv.Itoa(i+1), "LLEN", "log")
		p.receive()
	}
	p.do("WATCH", "log")
	reader.do("RPUSH", "log", "interference")
	p.do("MULTI")
	p.do("PUBLISH", "c", "never")
	p.expect("null", "EXEC")
	for _, args := range [][]string{{"MULTI"}, {"SET", "k", "v"}, {"PUBLISH", "c", "in a transaction"}} {
		p.do(args...)
	}
	p.send("EXEC")
	p.send("PUBLISH", "c", "after it")
	if a, b := show(p.receive()), show(p.receive()); a != "[OK 1]" || b != "1" {
		t.Errorf("EXEC: %s, then %s", a, b)
	}
	if f := sub.fence(); len(f) != 2 || show(f[0]) != `["message" "c" "in a transaction"]` ||
		show(f[1]) != `["message" "c" "after it"]` {
		t.Errorf("came: %v", f)
	}
}

// A subscriber that does not read is cut off, whatever its messages are; the
// others receive everything, and memory stays bounded.
func TestSubscriberThatNeverReads(t *testing.T) {
	var log logtest.Text
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), PushBytes: 4 << 20,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	good, p := dial(t, s.addr()), dial(t, s.addr())
	good.do("SUBSCRIBE", "c")
	bad, err := net.Dial("tcp", s.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	fmt.Fprint(bad, "HELLO 3\r\nSUBSCRIBE c d\r\n")
	eventually(t, "both are subscribed", func() bool { return show(p.do("PUBSUB", "NUMSUB", "c")) == `["c" 2]` })
	payload := strings.Repeat("x", 100_000)
	before := heap()
	for i := range 400 {
		if n := p.do("PUBLISH", "c", payload).Int; n != 1 && n != 2 {
			t.Fatalf("message %d was received by %d", i, n)
		}
		if v := good.receive(); string(v.Elems[2].Str) != payload {
			t.Fatalf("message %d is mutilated", i)
		}
	}
	eventually(t, "the connection is closed", func() bool { return s.Metrics().Connections == 2 })
	if !strings.Contains(log.String(), "does not read its messages") {
		t.Error("the log does not say why")
	}
	p.expect(`["c" 1 "d" 0]`, "PUBSUB", "NUMSUB", "c", "d")
	if after := heap(); after > before+30<<20 {
		t.Errorf("memory rose by %d MiB", (after-before)>>20)
	}
	if used := s.pushing.Used.Load(); used != 0 {
		t.Errorf("%d bytes are accounted for", used)
	}
}

// Many subscribers that do not read share one bound.
func TestManySubscribersThatNeverRead(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), PushBytesAll: 20 << 20})
	p := dial(t, s.addr())
	const slow = 30
	for i := range slow {
		nc, err := net.Dial("tcp", s.addr())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		fmt.Fprintf(nc, "SUBSCRIBE c%d\r\n", i)
	}
	eventually(t, "all are subscribed", func() bool { return len(p.do("PUBSUB", "CHANNELS").Elems) == slow })
	payload := strings.Repeat("x", 300_000)
	for range 30 {
		for i := range slow {
			p.do("PUBLISH", fmt.Sprint("c", i), payload)
			if used := s.pushing.Used.Load(); used > 20<<20+slow*(replies.Small+400_000) {
				t.Fatalf("%d MiB wait", used>>20)
			}
		}
	}
	if n := s.Metrics().Connections; n > slow {
		t.Errorf("%d connections are open", n)
	}
	p.expect("PONG", "PING")
}

// Replies and messages do not hold each other up.
func TestMessagesBesideReplies(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c, p := dial(t, s.addr()), dial(t, s.addr())
	c.do("HELLO", "3")
	c.do("SUBSCRIBE", "c")
	c.send("XREAD", "BLOCK", "60000", "STREAMS", "x", "$")
	c.send("UNSUBSCRIBE", "c") // waits for XREAD
	c.w.Flush()
	p.expect("1", "PUBLISH", "c", "while it blocks")
	if v := c.receive(); show(v) != `["message" "c" "while it blocks"]` {
		t.Errorf("came %s", show(v))
	}
	p.awaitBlocked(1) // or $ would be after the entry
	p.do("XADD", "x", "1-1", "f", "v")
	if a, b := show(c.receive()), show(c.receive()); a != `{"x" [["1-1" ["f" "v"]]]}` || b != `["unsubscribe" "c" 0]` {
		t.Errorf("came %s, %s", a, b)
	}
	p.expect("0", "PUBLISH", "c", "too late")
	c.expect("PONG", "PING")
	c.do("SUBSCRIBE", "c")
	for range 200 {
		p.send("PUBLISH", "c", "x")
		c.send("PING")
	}
	pongs, messages := 0, 0
	for range 400 {
		if v := c.receive(); v.Kind == resp.Push {
			messages++
		} else {
			pongs++
		}
		if messages == 0 && pongs == 200 {
			p.w.Flush()
		}
	}
	if pongs != 200 || messages != 200 {
		t.Errorf("%d replies, %d messages", pongs, messages)
	}
	c.expect("-TOO_LARGE a connection can have 10000 subscriptions, with 1048576 bytes of names",
		append([]string{"SUBSCRIBE"}, make([]string, 10_001)...)...)
}

// A change of the leader is told as Sentinels tell it, at every node.
func TestSwitchMaster(t *testing.T) {
	ms := openCluster(t)
	before, others := leaderOf(t, ms)
	var subs []*client
	for i, m := range others {
		c := dial(t, m.addr())
		c.do([][]string{{"SUBSCRIBE", "+switch-master"}, {"PSUBSCRIBE", "*"}}[i]...)
		subs = append(subs, c)
	}
	before.stop()
	for i, c := range subs {
		// On a slow machine the leader may have changed more than once.
		for place, to := "", "the last leader"; place != to; {
			v := c.receive()
			text := string(v.Elems[len(v.Elems)-1].Str)
			words := strings.Fields(text)
			if len(words) != 5 || words[0] != command.MasterName {
				t.Fatalf("subscriber %d: %q, want %s … %s", i, text, command.MasterName, to)
			}
			place = words[3] + " " + words[4]
			after, _ := leaderOf(t, others)
			to = strings.ReplaceAll(after.addr(), ":", " ")
		}
	}
}

// A leader that has not told the others its address yet is announced when it has, and one whose former
// leader never told its own is announced, too.
func TestSwitchIsToldWhenTheAddressIsKnown(t *testing.T) {
	e := &movingEngine{Engine: openEngine(t, turn.DefaultLimits()), changed: make(chan struct{}, 1),
		looked: make(chan struct{}, 1), asked: make(chan struct{}, 1)}
	e.move("a", "")
	s := open(t, Config{Engine: e})
	c := dial(t, s.addr())
	c.do("SUBSCRIBE", "+switch-master")
	for i, sign := range []chan struct{}{e.looked, e.asked, e.asked} { // asked again, since there was no address
		if i == 1 {
			e.move("b", "")
		}
		select {
		case <-sign:
		case <-time.After(20 * time.Second):
			t.Fatalf("the leader is not looked at: sign %d", i)
		}
	}
	e.move("b", "10.0.0.2:6379")
	if v := c.receive(); show(v) != `["message" "+switch-master" "mymaster 0.0.0.0 0 10.0.0.2 6379"]` {
		t.Errorf("came %s", show(v))
	}
	e.move("c", "10.0.0.3:6379")
	if v := c.receive(); show(v) != `["message" "+switch-master" "mymaster 10.0.0.2 6379 10.0.0.3 6379"]` {
		t.Errorf("came %s", show(v))
	}
}

// movingEngine is an engine whose leader moves, and has told an address or not.
type movingEngine struct {
	Engine
	changed chan struct{}
	looked  chan struct{} // for its leader
	asked   chan struct{} // for the addresses, since it moved

	mu    sync.Mutex
	id    string
	addrs map[string]string
}

func (e *movingEngine) move(id, addr string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.id, e.addrs = id, maps.Clone(e.addrs)
	if e.addrs == nil {
		e.addrs = map[string]string{}
	}
	e.addrs[id] = addr
	note(e.changed)
}

// note leaves a sign in the channel, if there is none yet.
func note(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (e *movingEngine) Leader() (string, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	note(e.looked)
	return e.id, e.changed
}

func (e *movingEngine) Cluster(context.Context) (turn.Cluster, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := turn.Cluster{Leader: e.id}
	for id, addr := range e.addrs {
		c.Nodes = append(c.Nodes, turn.Node{ID: id, RESPAddr: addr})
	}
	note(e.asked)
	return c, nil
}

func TestClientsThatSubscribe(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	c.do("HELLO", "3")
	c.do("SUBSCRIBE", "a", "b")
	c.receive()
	c.do("PSUBSCRIBE", "*")
	list := string(other.do("CLIENT", "LIST", "TYPE", "pubsub").Str)
	if strings.Count(list, "\n") != 1 || !strings.Contains(list, "flags=P ") ||
		!strings.Contains(list, "sub=2 psub=1 ") {
		t.Errorf("CLIENT LIST TYPE pubsub: %s", list)
	}
	if info := string(other.do("INFO", "stats").Str); !strings.Contains(info,
		"pubsub_channels:2\r\npubsub_patterns:1\r\n") {
		t.Errorf("INFO stats: %s", info)
	}
	other.expect("1", "CLIENT", "KILL", "TYPE", "pubsub")
	c.expectClosed()
	eventually(t, "the subscriptions end", func() bool { a, b := s.hub.Sizes(); return a+b == 0 })
	other.do("MULTI")
	other.expect("-"+string(transaction.ErrNotWithin), "SUBSCRIBE", "a")
}
