package migrate

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/turnlog/turnlog/internal/faultproxy"
	"github.com/turnlog/turnlog/internal/ports"
)

// startRedis starts a redis-server until the test ends.
func startRedis(t *testing.T) (addr string) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("TURNLOG_REQUIRE_REDIS") == "1" {
			t.Fatal("redis-server is not installed, and TURNLOG_REQUIRE_REDIS=1 demands it: run " +
				"test/scripts/install-test-deps.sh")
		}
		t.Skip("redis-server is not installed: run test/scripts/install-test-deps.sh")
	}
	addr = ports.For(t, 1)[0]
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
		t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	c := redisAt(t, addr, 0)
	for deadline := time.Now().Add(20 * time.Second); c.Ping(t.Context()).Err() != nil; {
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return addr
}

func redisAt(t *testing.T, addr string, db int) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, DB: db, Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	return c
}

// between returns a job from database 0 to database 1, and clients of both.
func between(t *testing.T, cfg Config, addr string) (j *Job, report *Report, from, to *redis.Client) {
	t.Helper()
	report = NewReport()
	if cfg.Source.Addrs == nil {
		cfg.Source = Place{Name: "source", Addrs: []string{addr}}
		cfg.Target = Place{Name: "target", Addrs: []string{addr}}
	}
	cfg.Target.DB = 1
	j, err := New(cfg, report)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j, report, redisAt(t, addr, 0), redisAt(t, addr, 1)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// byKey returns the verdict of each finding.
func (r *Report) byKey() map[string]Verdict {
	all := map[string]Verdict{}
	for _, f := range r.Findings() {
		all[f.Key] = f.Verdict
	}
	return all
}

// TestWhoChanged: of what changes between copy and verification, the report says
// at which end.
func TestWhoChanged(t *testing.T) {
	t.Parallel()
	j, report, from, to := between(t, Config{}, startRedis(t))
	ctx := t.Context()
	for _, key := range []string{"untouched", "here", "there", "both", "gone", "lost", "sooner", "type"} {
		from.RPush(ctx, key, "1", "2", "3")
	}
	for i := range 2000 {
		from.RPush(ctx, "long", i)
		from.SAdd(ctx, "long set", i)
	}
	must(t, j.Copy(ctx))
	from.RPush(ctx, "here", "4")
	to.RPush(ctx, "there", "4")
	from.RPush(ctx, "both", "4")
	to.RPush(ctx, "both", "5")
	from.Del(ctx, "gone")
	to.Del(ctx, "lost")
	from.Expire(ctx, "sooner", time.Hour)
	from.Del(ctx, "type")
	from.Set(ctx, "type", "123", 0)
	from.LSet(ctx, "long", 1000, "another")
	from.SRem(ctx, "long set", 7)
	from.SAdd(ctx, "long set", "another")
	from.Set(ctx, "new", "1", 0)
	must(t, j.Verify(ctx))
	want := map[string]Verdict{"here": ChangedHere, "there": ChangedAway, "both": Different, "gone": Gone,
		"lost":   ChangedAway,
		"sooner": Deadline, "type": ChangedHere, "long": ChangedHere, "long set": Different, "new": Missing}
	got := report.byKey()
	for key, v := range want {
		if got[key] != v {
			t.Errorf("%s: %q, want %q", key, got[key], v)
		}
	}
	if len(got) != len(want) || report.Count(Verified) != 1 {
		t.Errorf("%v; %d verified", got, report.Count(Verified))
	}

	// A second job without knowledge of the first brings what has grown.
	again, second, _, _ := between(t, Config{Replace: true}, j.cfg.Source.Addrs[0])
	must(t, again.Copy(ctx))
	must(t, again.Verify(ctx))
	if second.Problems() != 0 || second.Count(Verified) != 10 || second.Count(Replaced) == 0 {
		t.Errorf("%v; %d verified, %d replaced", second.Findings(), second.Count(Verified), second.Count(Replaced))
	}
}

// TestNames: selection and renaming.
func TestNames(t *testing.T) {
	t.Parallel()
	j, _, from, to := between(t, Config{StripPrefix: "a*/", AddPrefix: "b/"}, startRedis(t))
	ctx := t.Context()
	for _, key := range []string{"a*/1", "a*/2", "ax/3", "b/4"} {
		from.Set(ctx, key, key, 0)
	}
	must(t, j.Copy(ctx))
	keys := to.Keys(ctx, "*").Val()
	if slices.Sort(keys); fmt.Sprint(keys) != "[b/1 b/2]" || to.Get(ctx, "b/1").Val() != "a*/1" {
		t.Errorf("%q", keys)
	}
}

// TestTimeIsUp: what expires on the way is not left behind.
func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	j, report, from, to := between(t, Config{Rate: 100_000}, startRedis(t))
	ctx := t.Context()
	for i := range 400 {
		from.RPush(ctx, "list", strings.Repeat("x", 1000), i)
	}
	from.PExpire(ctx, "list", 1500*time.Millisecond) // the copy takes four seconds
	from.Set(ctx, "soon", "x", time.Millisecond)
	must(t, j.Copy(ctx))
	must(t, j.Verify(ctx))
	if n := to.Exists(ctx, "list", "soon").Val(); n != 0 || report.Problems() != 0 || report.Count(Vanished) == 0 {
		t.Errorf("%d keys are left; %v", n, report.Findings())
	}
}

// TestLongestTTL: a time that no Duration holds is not taken for one that is up.
func TestLongestTTL(t *testing.T) {
	t.Parallel()
	j, report, from, to := between(t, Config{}, startRedis(t))
	ctx := t.Context()
	from.RPush(ctx, "list", "a", "b")
	must(t, from.Do(ctx, "pexpire", "list", int64(1)<<62).Err())
	from.Set(ctx, "string", "x", 0)
	must(t, from.Do(ctx, "pexpire", "string", math.MaxInt64/int64(time.Millisecond)+1).Err())
	must(t, j.Copy(ctx))
	must(t, j.Verify(ctx))
	if n := to.Exists(ctx, "list", "string").Val(); n != 2 || report.Problems() != 0 {
		t.Errorf("%d keys are there; %v", n, report.Findings())
	}
}

// cutter is a proxy that breaks connections after a number of replied bytes.
func cutter(t *testing.T, to string, bytes func() int64) (addr string) {
	return faultproxy.For(t, faultproxy.Config{Targets: []string{to}, Carry: func(c *faultproxy.Conn) {
		var requests sync.WaitGroup
		requests.Go(func() {
			io.Copy(c.Server, c.Client)
			c.Server.Close()
		})
		io.CopyN(c.Client, c.Server, bytes())
		c.Reset()
		requests.Wait()
	}}).Addr()
}

// TestLostAnswers: connections to both ends break at any byte, before and after
// writes have taken place; nothing is lost or doubled.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	r := rand.New(rand.NewPCG(7, 8))
	var mu sync.Mutex
	through := cutter(t, addr, func() int64 {
		mu.Lock()
		defer mu.Unlock()
		return 2_000 + r.Int64N(60_000)
	})
	cfg := Config{Workers: 4, RetryFor: time.Minute, NewestFirst: []string{"head*"},
		Source: Place{Name: "source", Addrs: []string{"127.0.0.1:1", through}}, // the first one is not there
		Target: Place{Name: "target", Addrs: []string{through}}}
	j, report, from, to := between(t, cfg, addr)
	ctx := t.Context()
	pipe := from.Pipeline()
	for i := range 6000 {
		pipe.RPush(ctx, "list", i)
		pipe.LPush(ctx, "head", i)
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: "stream", Values: []any{"n", i}})
		pipe.HSet(ctx, "hash", i, i)
		if i < 1000 {
			pipe.RPush(ctx, fmt.Sprint("small ", i), i, i+1)
		}
	}
	_, err := pipe.Exec(ctx)
	must(t, err)
	must(t, j.Copy(ctx))
	must(t, j.Verify(ctx))
	if report.Problems() != 0 || report.Count(Verified) != 1004 {
		t.Errorf("%v; %d verified", report.Findings(), report.Count(Verified))
	}
	for _, key := range []string{"list", "head"} {
		if a, b := from.LRange(ctx, key, 0, -1).Val(), to.LRange(ctx, key, 0, -1).Val(); !slices.Equal(a, b) {
			t.Errorf("%s: %d elements, then %d", key, len(a), len(b))
		}
	}
}

// TestGivesUp: an end that cannot be reached is an error, not an endless wait.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	place := Place{Name: "absent", Addrs: []string{"127.0.0.1:1"}}
	j, err := New(Config{Source: place, Target: place, RetryFor: 50 * time.Millisecond}, NewReport())
	must(t, err)
	defer j.Close()
	if err := j.Copy(t.Context()); err == nil || !strings.Contains(err.Error(), "tried for") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Size(ctx); err == nil {
		t.Error("a context that has ended is no error")
	}
}

func TestPacer(t *testing.T) {
	t.Parallel()
	p := &pacer{rate: 1000}
	begin := time.Now()
	for range 4 {
		must(t, p.wait(t.Context(), 100))
	}
	if took := time.Since(begin); took < 290*time.Millisecond {
		t.Errorf("400 bytes at 1000 a second, the last of them after %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.wait(ctx, 1); err == nil {
		t.Error("waits for a server that is not there")
	}
}
