package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/faultproxy"
	"github.com/turnlog/turnlog/internal/migrate"
)

// startRedis starts a redis-server until the test ends.
func startRedis(t *testing.T) *redis.Client {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("TURNLOG_REQUIRE_REDIS") == "1" {
			t.Fatal("redis-server is not installed, and TURNLOG_REQUIRE_REDIS=1 demands it: run " +
				"test/scripts/install-test-deps.sh")
		}
		t.Skip("redis-server is not installed: run test/scripts/install-test-deps.sh")
	}
	addr := freePorts(t, 1)[0]
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--enable-debug-command", "yes", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() {
		c.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); c.Ping(t.Context()).Err() != nil; {
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return c
}

func redisURL(c *redis.Client, db int) string {
	return fmt.Sprintf("redis://%s/%d", c.Options().Addr, db)
}

// redisAt is a client of a turnlog node.
func redisAt(t *testing.T, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	return c
}

// fill puts n keys of all types into a Redis, with bytes of all kinds.
func fill(t *testing.T, c *redis.Client, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	text := func() string {
		b := make([]byte, r.IntN(50))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}
	texts := func(max, each int) (all []any) {
		for range (1 + r.IntN(max)) * each {
			all = append(all, text())
		}
		return all
	}
	pipe := c.Pipeline()
	for i := range n {
		key := fmt.Sprintf("k%d:%s", i, text())
		switch i % 7 {
		case 0:
			pipe.RPush(t.Context(), key, texts(40, 1)...)
		case 1:
			pipe.LPush(t.Context(), "message_store:"+key, texts(40, 1)...)
		case 2:
			pipe.Set(t.Context(), key, text(), 0)
		case 3:
			pipe.HSet(t.Context(), key, texts(20, 2)...)
		case 4:
			pipe.SAdd(t.Context(), key, texts(20, 1)...)
		case 5:
			for range 1 + r.IntN(10) {
				pipe.ZAdd(t.Context(), key,
					redis.Z{Score: []float64{0.1, -1e300, r.NormFloat64(), float64(r.IntN(3))}[r.IntN(4)],
						Member: text()})
			}
		case 6:
			for j := range 1 + r.IntN(4) {
				pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: key, ID: fmt.Sprintf("%d-%d", i, j+1),
					Values: []any{"role", text(), "role", text(), "", ""}})
			}
		}
		if r.IntN(3) == 0 {
			pipe.PExpire(t.Context(), key, time.Hour+time.Duration(r.IntN(1e6))*time.Millisecond)
		}
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// longValues puts values of many pages into a Redis.
func longValues(t *testing.T, c *redis.Client, n int) {
	t.Helper()
	for from := 0; from < n; from += 1000 {
		pipe := c.Pipeline()
		for i := from; i < min(n, from+1000); i++ {
			pipe.RPush(t.Context(), "long list", fmt.Sprintf("element %d", i))
			pipe.LPush(t.Context(), "message_store:long", fmt.Sprintf("element %d", i))
			pipe.HSet(t.Context(), "long hash", fmt.Sprintf("field %d", i), i)
			pipe.SAdd(t.Context(), "long set", fmt.Sprintf("member %d", i))
			pipe.ZAdd(t.Context(), "long zset", redis.Z{Score: float64(i) / 3, Member: fmt.Sprintf("member %d", i)})
			pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: "long stream", ID: fmt.Sprintf("1-%d", i+1),
				Values: []any{"n", i}})
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.XDel(t.Context(), "long stream", fmt.Sprintf("1-%d", n)) // the highest id is of no entry
	c.Set(t.Context(), "long string", strings.Repeat("\x00\xff", 200_000), time.Hour)
}

// moved is what import and export say with --json.
type moved struct {
	Types    map[string]migrate.Amount
	Keys     map[migrate.Verdict]int64
	Findings []migrate.Finding
}

func (c shell) move(status int, args ...string) (m moved) {
	c.t.Helper()
	r := c.run(append(args, "--json")...)
	if r.status != status {
		c.t.Fatalf("%q: status %d, want %d\n%s%s", args, r.status, status, r.stdout, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout), &m); err != nil {
		c.t.Fatalf("%v in %s%s", err, r.stdout, r.stderr)
	}
	return m
}

// sameValues holds two databases of a Redis against each other, by Redis's own
// digests of values.
func sameValues(t *testing.T, c *redis.Client, a, b int) {
	t.Helper()
	digests := func(db int) map[string]string {
		conn := c.Conn()
		defer conn.Close()
		conn.Select(t.Context(), db)
		keys, err := conn.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, key := range keys {
			digest, err := conn.Do(t.Context(), "debug", "digest-value", key).StringSlice()
			if err != nil {
				t.Fatal(err)
			}
			all[key] = digest[0]
		}
		conn.Select(t.Context(), 0)
		return all
	}
	want, got := digests(a), digests(b)
	for key, digest := range want {
		if got[key] != digest {
			t.Errorf("%q: digest %s in database %d, %s in database %d", key, digest, a, got[key], b)
		}
	}
	if len(want) != len(got) {
		t.Errorf("%d keys in database %d, %d in database %d", len(want), a, len(got), b)
	}
}

// TestMoveThereAndBack: from Redis to turnlog and back into another database,
// nothing is different, by Redis's own judgement.
func TestMoveThereAndBack(t *testing.T) {
	t.Parallel()
	from := startRedis(t)
	n := startNode(t, t.TempDir())
	fill(t, from, 700)
	longValues(t, from, 2000)
	total := from.DBSize(t.Context()).Val()

	dry := n.move(0, "import", redisURL(from, 0), "--dry-run")
	if dry.Keys["copied"] != total || n.ok("sessions") != "" && strings.Contains(n.ok("sessions"), "k0") {
		t.Errorf("dry run: %+v", dry)
	}
	got := n.move(0, "import", redisURL(from, 0), "--newest-first", "message_store:*")
	if got.Keys["copied"] != total || got.Keys["verified"] != total || fmt.Sprint(got.Types) != fmt.Sprint(dry.Types) {
		t.Errorf("%d keys: %+v, after a dry run that said %+v", total, got, dry)
	}
	if again := n.move(0, "import", redisURL(from, 0)); again.Keys["present"] != total {
		t.Errorf("the second time: %+v", again)
	}
	n.move(0, "export", "--to", redisURL(from, 5))
	sameValues(t, from, 0, 5)
	if got := n.move(0, "import", redisURL(from, 5), "--verify-only"); got.Keys["verified"] != total {
		t.Errorf("verify only: %+v", got)
	}

	// Both layouts of a list give the conversation in its order.
	for key, first := range map[string]string{"long list": "element 0", "message_store:long": "element 0"} {
		if out := n.ok("read", key, "--after", "0", "--limit", "1", "--raw"); out != first+"\n" {
			t.Errorf("%s begins with %q", key, out)
		}
	}
	// A stream goes on above the highest id it ever had.
	to := redisAt(t, n.addr)
	if err := to.XAdd(t.Context(),
		&redis.XAddArgs{Stream: "long stream", ID: "1-2000", Values: []any{"a", "b"}}).Err(); err == nil {
		t.Error("an id that the stream has had is given again")
	}
	if d := to.PTTL(t.Context(), "long string").Val(); d < 55*time.Minute || d > time.Hour {
		t.Errorf("long string expires in %s", d)
	}
}

// TestImportKilled: an import that is killed in the middle of long values, again
// and again, ends with nothing lost or doubled.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	from := startRedis(t)
	n := startNode(t, t.TempDir())
	longValues(t, from, 6000)
	fill(t, from, 100)
	total := from.DBSize(t.Context()).Val()
	to := redisAt(t, n.addr)
	arrived := func() int64 {
		return to.LLen(t.Context(), "long list").Val() + to.HLen(t.Context(), "long hash").Val() + to.XLen(t.Context(),
			"long stream").Val()
	}
	last := int64(0)
	for _, until := range []int64{500, 5_000, 10_000} {
		p := startProcess(t, []string{"TURNLOG_ADDR=" + n.addr}, "import", redisURL(from, 0), "--workers", "3",
			"--rate", "500KiB")
		p.until("some has arrived", func() bool { return arrived() >= until })
		p.cmd.Process.Signal(syscall.SIGKILL)
		<-p.ended
		if p.cmd.ProcessState.Success() {
			t.Fatal("the import was done before it was killed")
		}
		if now := arrived(); now < last {
			t.Errorf("after a restart %d elements have arrived, before it had been %d", now, last)
		} else {
			last = now
		}
	}
	got := n.move(0, "import", redisURL(from, 0))
	if got.Keys["verified"] != total {
		t.Errorf("%+v", got)
	}
	want := from.LRange(t.Context(), "message_store:long", 0, -1).Val()
	if list := to.LRange(t.Context(), "message_store:long", 0, -1).Val(); !slices.Equal(list, want) {
		t.Errorf("the list has %d elements, %d in Redis, or others", len(list), len(want))
	}
}

// TestImportFindings: what cannot be moved, what is in the way, and what changes
// meanwhile is told apart and named.
func TestImportFindings(t *testing.T) {
	t.Parallel()
	from := startRedis(t)
	n := startNode(t, t.TempDir(), "--max-message-bytes", "4KiB", "--max-append-bytes", "16KiB")
	to := redisAt(t, n.addr)
	ctx := t.Context()
	from.RPush(ctx, "fine", "", "a", "")
	from.RPush(ctx, "grows", "1", "2", "3")
	from.Set(ctx, "too long", strings.Repeat("x", 5000), 0)
	for i := range 1200 {
		from.RPush(ctx, "too long within", strings.Repeat("x", 4+i/1100*5000))
	}
	from.Set(ctx, strings.Repeat("k", 600), "v", 0)
	from.Set(ctx, "", "no name", 0)
	from.ZAdd(ctx, "module", redis.Z{Member: "a"})
	from.XGroupCreateMkStream(ctx, "grouped", "g", "0")
	from.HSet(ctx, "mine", "a", "1")
	to.HSet(ctx, "mine", "a", "2")
	from.Set(ctx, "other type", "1", 0)
	to.RPush(ctx, "other type", "1")
	to.RPush(ctx, "grows", "1", "2")
	through := typeForger(t, from, "zset", "ReJSON-RL")

	got := n.move(cli.ExitFailed, "import", "redis://"+through+"/0")
	want := map[string]migrate.Verdict{"too long": migrate.Refused, "too long within": migrate.Refused,
		strings.Repeat("k", 600): migrate.Refused,
		"":                       migrate.Refused, "module": migrate.Unsupported, "grouped": migrate.Groups,
		"mine": migrate.Conflict, "other type": migrate.Conflict}
	for _, f := range got.Findings {
		if want[f.Key] != f.Verdict {
			t.Errorf("%q: %s (%s), want %q", f.Key, f.Verdict, f.Reason, want[f.Key])
		}
		delete(want, f.Key)
	}
	if len(want) > 0 || got.Keys["copied"] != 3 || got.Keys["verified"] != 3 {
		t.Errorf("not reported: %v; %v", want, got.Keys)
	}
	if n := to.Exists(ctx, "too long within", "too long", "module").Val(); n != 0 {
		t.Errorf("%d keys that are refused have left something behind", n)
	}
	if got := to.LRange(ctx, "grows", 0, -1).Val(); fmt.Sprint(got) != "[1 2 3]" {
		t.Errorf("a list of which a part was there: %v", got)
	}
	if v := to.HGet(ctx, "mine", "a").Val(); v != "2" {
		t.Errorf("a key of turnlog's was overwritten with %q", v)
	}
	from.Del(ctx, "too long", "too long within", strings.Repeat("k", 600), "", "grouped", "module")
	if got := n.move(0, "import", redisURL(from, 0), "--replace"); got.Keys["replaced"] != 2 ||
		to.HGet(ctx, "mine", "a").Val() != "1" {
		t.Errorf("replace: %+v", got)
	}
}

// typeForger is a proxy in front of a Redis that calls a type by another name.
func typeForger(t *testing.T, to *redis.Client, is, forged string) string {
	return faultproxy.For(t, faultproxy.Config{Targets: []string{to.Options().Addr}, Carry: func(c *faultproxy.Conn) {
		var requests sync.WaitGroup
		defer requests.Wait()
		defer c.Reset()
		requests.Go(func() {
			io.Copy(c.Server, c.Client)
			c.Server.CloseWrite()
		})
		replies := bufio.NewReader(c.Server)
		for {
			line, err := replies.ReadString('\n')
			if line == "+"+is+"\r\n" {
				line = "+" + forged + "\r\n"
			}
			if _, werr := c.Client.Write([]byte(line)); err != nil || werr != nil {
				return
			}
		}
	}}).Addr()
}

// TestImportOfALivingRedis: while a cluster's leader is killed, and Redis goes on
// changing, the report is right about which end has changed.
func TestImportOfALivingRedis(t *testing.T) {
	if os.Getenv("TURNLOG_LONG") == "" {
		t.Skip("TURNLOG_LONG=1 runs it: half a minute")
	}
	from := startRedis(t)
	base := freeBase(t)
	dev := startProcess(t, nil, "dev", "--data-dir", t.TempDir(), "--port-base", strconv.Itoa(base))
	dev.until("ready", func() bool { return strings.Contains(dev.text(), "Ctrl-C stops the cluster") })
	addrs := fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", base, base+10, base+20)
	c := shell{t, addrs}
	fill(t, from, 20_000)
	longValues(t, from, 50_000)
	total := from.DBSize(t.Context()).Val()

	p := startProcess(t, []string{"TURNLOG_ADDR=" + addrs}, "import", redisURL(from, 0), "--no-verify",
		"--rate", "1MiB")
	to := redisAt(t, fmt.Sprintf("127.0.0.1:%d", base+10))
	p.until("some has arrived", func() bool { return to.DBSize(t.Context()).Val() > 500 })
	leader := c.field("leader", "cluster", "status")
	pid := regexp.MustCompile(leader + ` .*pid (\d+)`).FindStringSubmatch(dev.text())
	number, err := strconv.Atoi(pid[1])
	if err != nil {
		t.Fatal(dev.text())
	}
	if err := syscall.Kill(number, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(3 * time.Minute):
		t.Fatal("the import does not end")
	}
	if status := p.cmd.ProcessState.ExitCode(); status != 0 {
		t.Fatalf("status %d: %s", status, p.text())
	}
	if got := c.move(0, "import", redisURL(from, 0), "--verify-only"); got.Keys["verified"] != total {
		t.Errorf("%d keys: %v", total, got.Keys)
	}
}

// TestImportIntoProtectedCluster: from a Redis with a password, over TLS, as a
// user who may write some keys only.
func TestImportIntoProtectedCluster(t *testing.T) {
	t.Parallel()
	from := startRedis(t)
	from.RPush(t.Context(), "chat:1", "a", "b")
	from.Set(t.Context(), "other", "x", 0)
	from.ConfigSet(t.Context(), "requirepass", "p/w d")
	s := newSecured(t)
	ports := freePorts(t, 3)
	s.addr = ports[0]
	s.start(ports[0], ports[1], ports[2], "--data-dir", s.file("data"))
	url := "redis://" + from.Options().Addr + "/0"
	password := s.file("redis-password")
	if err := os.WriteFile(password, []byte("p/w d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.fails(cli.ExitUsage, "can see",
		append([]string{"import", "redis://:p%2Fw%20d@" + from.Options().Addr}, s.as("root")...)...)

	got := s.move(cli.ExitFailed, append([]string{"import", url, "--no-verify", "--redis-password-file", password},
		s.as("bot")...)...)
	if got.Keys["copied"] != 1 || len(got.Findings) != 1 || got.Findings[0].Key != "other" ||
		!strings.Contains(got.Findings[0].Reason, "NOPERM") {
		t.Errorf("%+v", got)
	}
	if got := s.move(0, append([]string{"import", url, "--redis-password-file", password},
		s.as("root")...)...); got.Keys["verified"] != 2 {
		t.Errorf("%+v", got)
	}
	wrong := s.file("wrong")
	if err := os.WriteFile(wrong, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.fails(cli.ExitFailed, "WRONGPASS",
		append([]string{"import", url, "--redis-password-file", wrong}, s.as("root")...)...)
}
