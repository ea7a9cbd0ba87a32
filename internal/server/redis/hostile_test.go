package redis

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/logtest"
	"github.com/turnlog/turnlog/internal/server/redis/pubsub"
	"github.com/turnlog/turnlog/turn"
)

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// A client that asks and never reads is cut off; others go on meanwhile.
func TestClientThatNeverReads(t *testing.T) {
	var log logtest.Text
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), WriteTimeout: 300 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	good := dial(t, s.addr())
	for range 50 {
		good.do("RPUSH", "big", strings.Repeat("x", 200_000))
	}
	before := heap()
	bad, err := net.Dial("tcp", s.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	request := []byte("*4\r\n$6\r\nLRANGE\r\n$3\r\nbig\r\n$1\r\n0\r\n$2\r\n-1\r\n")
	bad.SetWriteDeadline(time.Now().Add(20 * time.Second))
	most := uint64(0)
	for range 2000 {
		if _, err := bad.Write(request); err != nil {
			break
		}
		good.expect("PONG", "PING")
	}
	most = max(most, heap())
	eventually(t, "the connection is closed", func() bool { return s.Metrics().Connections == 1 })
	if !strings.Contains(log.String(), "does not read its replies") {
		t.Error("the log does not say why")
	}
	if most > before+200<<20 {
		t.Errorf("memory rose by %d MiB", (most-before)>>20)
	}
	good.expect("50", "LLEN", "big")
}

// Large requests that never end are bounded together, and do not keep others
// from sending small ones, or large ones later.
func TestUnfinishedLargeRequests(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), ReceiveBytes: 8 << 20,
		ReadTimeout: 5 * time.Second})
	good := dial(t, s.addr())
	before := heap()
	for range 50 {
		c, err := net.Dial("tcp", s.addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetWriteDeadline(time.Now().Add(10 * time.Second))
		c.Write(append([]byte("*3\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n$8000000\r\n"), make([]byte, 2<<20)...))
	}
	eventually(t, "the budget is used", func() bool { return s.Metrics().ReceiveBytes > 4<<20 })
	good.expect("PONG", "PING")
	if now := heap(); now > before+64<<20 {
		t.Errorf("memory rose by %d MiB", (now-before)>>20)
	}
	eventually(t, "the stalled connections are closed", func() bool { return s.Metrics().Connections == 1 })
	if n := s.Metrics().ReceiveBytes; n != 0 {
		t.Errorf("%d bytes of the budget are lost", n)
	}
	good.expect("1", "RPUSH", "k", strings.Repeat("x", 5<<20))
}

func TestMaxClients(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), MaxClients: 3})
	for range 3 {
		dial(t, s.addr()).do("PING")
	}
	c := dial(t, s.addr())
	if got := show(c.receive()); got != "-ERR max number of clients reached" {
		t.Errorf("got %s", got)
	}
	c.expectClosed()
	if m := s.Metrics(); m.Connections != 3 || m.Rejected != 1 || m.Accepted != 4 {
		t.Errorf("%+v", m)
	}
}

// Idle connections are cheap. TURNLOG_CONNECTIONS=10000 tries more of them, where
// the limit of open files allows it.
func TestIdleConnections(t *testing.T) {
	n := 500
	if os.Getenv("TURNLOG_CONNECTIONS") == "10000" {
		n = 9900
		var limit syscall.Rlimit
		syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
		limit.Cur = limit.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 19_900 {
			t.Skipf("%d open files are allowed, %v", limit.Cur, err)
		}
	}
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	before := heap()
	idle := make([]net.Conn, n)
	buf := make([]byte, 7)
	for i := range idle {
		c, err := net.Dial("tcp", s.addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write([]byte("PING\r\n"))
		if _, err := c.Read(buf); err != nil {
			t.Fatal(err)
		}
		idle[i] = c
	}
	per := int64(heap()-before) / int64(n)
	t.Logf("%d idle connections take %d bytes each, client side included", n, per)
	if per > 32<<10 {
		t.Errorf("an idle connection takes %d bytes", per)
	}
	dial(t, s.addr()).expect("1", "RPUSH", "k", "x")
}

func TestClientKill(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	a, b := dial(t, s.addr()), dial(t, s.addr())
	id := a.do("CLIENT", "ID").Text()
	b.expect("1", "CLIENT", "KILL", "ID", id)
	a.expectClosed()
	c := dial(t, s.addr())
	c.do("PING")
	b.expect("OK", "CLIENT", "KILL", c.nc.LocalAddr().String())
	c.expectClosed()
	for strings.Count(b.do("CLIENT", "LIST").Text(), "id=") > 1 {
		// The server forgets a connection a moment after it closed it.
		if t.Context().Err() != nil || t.Failed() {
			return
		}
	}
	b.expect("1", "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
	b.expectClosed()
}

func TestMetrics(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c := dial(t, s.addr())
	c.do("RPUSH", "k", "x")
	c.do("RPUSH", "k")
	c.do("NOSUCH")
	c.do("CLIENT", "ID")
	m := s.Metrics()
	calls := make(map[string]CommandMetrics)
	for _, cm := range m.Commands {
		calls[cm.Name] = cm
	}
	push := calls["rpush"]
	if push.Durations.Count != 2 || push.Errors != 1 || calls["client|id"].Durations.Count != 1 ||
		m.UnknownCommands != 1 || push.Durations.Seconds <= 0 {
		t.Errorf("%+v", m)
	}
	if m.BytesReceived == 0 || m.BytesSent == 0 {
		t.Errorf("%+v", m)
	}
}

// pipeConn is one end of a connection in memory.
func pipe(s *Server) net.Conn {
	ours, theirs := net.Pipe()
	s.welcome(ours)
	return theirs
}

// FuzzConnection sends anything to a server with a real engine behind it: it
// must survive and end the connection when its input ends.
func FuzzConnection(f *testing.F) {
	f.Add([]byte("*3\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n$1\r\nv\r\nLRANGE k 0 -1\r\nHELLO 3\r\nTURN.READ k LAST 1\r\n"))
	f.Add([]byte("TURN.APPEND k EXPECT 0 PX 5 MSG a b MSG \"\" c\r\nTURN.META k SET a b UNSET c EXPECT " +
		"1\r\nTURN.TAIL k\r\n"))
	f.Add([]byte("SCAN 0 MATCH a* COUNT 5\r\nEXPIRE k 5 NX GT\r\nCLIENT REPLY SKIP\r\nCLIENT KILL ID 5\r\nCOMMAND " +
		"GETKEYS DEL a\r\nINFO\r\nRESET\r\nQUIT\r\n"))
	f.Add([]byte("TURN.REPLACE k FROM 1 MSG a b\r\nTURN.POP k COUNT 2 FROM HEAD\r\nTURN.FORK k j AT 1\r\nTURN.ERASE " +
		"PREFIX k\r\nDEL a b c\r\nLPOP k 0\r\n"))
	s := open(f, Config{Engine: openEngine(f, turn.DefaultLimits())})
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(bytes.ToUpper(in), []byte("BLOCK")) || bytes.Contains(bytes.ToUpper(in), []byte("WAIT")) {
			t.Skip() // would take its time
		}
		c := pipe(s)
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			buf := make([]byte, 4096)
			for {
				if _, err := c.Read(buf); err != nil {
					return
				}
			}
		}()
		c.SetWriteDeadline(time.Now().Add(10 * time.Second))
		c.Write(in)
		c.Close()
		<-drained
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		for s.Metrics().Connections > 0 {
			if ctx.Err() != nil {
				t.Fatalf("the connection does not end after %q", in)
			}
			runtime.Gosched()
		}
	})
}

// What a subscription takes of the memory is given back when it ends, whatever others
// the connection has, and taken once, however often it is asked for.
func TestSubscriptionsAreChargedOnce(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), ReceiveBytes: 1 << 20})
	c := dial(t, s.addr())
	c.do("HELLO", "3")
	kept := int64(0)
	change := func(by int, confirmations int, args ...string) {
		t.Helper()
		c.send(args...)
		for range confirmations {
			if got := show(c.receive()); strings.HasPrefix(got, "-") {
				t.Fatalf("%.40q: %s", args, got)
			}
		}
		kept += int64(by)
		if n := s.Metrics().ReceiveBytes; n != kept {
			t.Fatalf("%.40q: %d bytes are charged, want %d", args, n, kept)
		}
	}
	long := strings.Repeat("x", 1000)
	for _, kind := range []string{"", "P"} {
		change(6+pubsub.TopicOverhead, 1, kind+"SUBSCRIBE", "anchor")
		for range 3 {
			change(len(long)+pubsub.TopicOverhead, 1, kind+"SUBSCRIBE", long)
			change(0, 3, kind+"SUBSCRIBE", long, "anchor", long)
			change(-len(long)-pubsub.TopicOverhead, 2, kind+"UNSUBSCRIBE", long, "none")
		}
		change(2+2*pubsub.TopicOverhead, 3, kind+"SUBSCRIBE", "a", "a", "b")
		change(-1-pubsub.TopicOverhead, 2, kind+"UNSUBSCRIBE", "a", "a")
	}
	change(-7-2*pubsub.TopicOverhead, 2, "UNSUBSCRIBE")
	change(-7-2*pubsub.TopicOverhead, 2, "PUNSUBSCRIBE")
}
