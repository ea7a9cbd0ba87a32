package redis

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// protected runs a server with users root (admin), ann and bob (write).
func protected(t *testing.T, cfg Config) *Server {
	t.Helper()
	_, users := newUsersFile(t, testUser{"root", "admin", "['*']", ""}, testUser{"ann", "write", "['*']", ""},
		testUser{"bob", "write", "['*']", ""})
	cfg.Engine, cfg.Users = openEngine(t, turn.DefaultLimits()), users
	return open(t, cfg)
}

// closes reports whether the server ends the connection, while drip, if it is
// not nil, is called again and again.
func closes(t *testing.T, nc net.Conn, drip func() error) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, nc)
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return
		case <-time.After(20 * time.Millisecond):
			if drip != nil && drip() != nil {
				<-ended
				return
			}
		case <-t.Context().Done():
			t.Error("the connection goes on")
			return
		}
	}
}

// A request that drips in, or requests that never authenticate, hold a connection
// for ReadTimeout, however often a byte comes and however many came at first.
func TestDrippingConnectionsEnd(t *testing.T) {
	s := protected(t, Config{ReadTimeout: 300 * time.Millisecond})
	known, other := s.quicklyAs(t, "ann").nc, s.quicklyAs(t, "bob").nc
	const begun = "*2\r\n$4\r\nECHO\r\n$9999\r\n"
	for _, c := range []struct {
		nc           net.Conn
		before, drip string
	}{{dial(t, s.addr()).nc, begun, "x"}, {dial(t, s.addr()).nc, "", "PING\r\n"}, {known, begun, "x"},
		{other, "*2\r\n$4\r\nECHO\r\n$1000000\r\n" + strings.Repeat("x", 900_000), "x"}} {
		io.WriteString(c.nc, c.before)
		closes(t, c.nc, func() error { _, err := io.WriteString(c.nc, c.drip); return err })
	}
}

// When strangers take all connections, the one that has been silent for longest
// gives way: a user gets in, and users who are in stay.
func TestStrangersGiveWay(t *testing.T) {
	s := protected(t, Config{MaxClients: 8})
	ann := s.as(t, "ann")
	var flood []net.Conn
	for range 30 {
		flood = append(flood, dial(t, s.addr()).nc)
	}
	closes(t, flood[0], nil)
	for range 3 {
		root := s.as(t, "root")
		root.expect("PONG", "PING")
	}
	ann.expect("PONG", "PING")
	if n := s.Metrics().Connections; n > 8 {
		t.Errorf("%d connections", n)
	}
}

// taps accepts connections as taps. They lie below TLS.
type taps struct {
	net.Listener
	accepted chan *tap
}

func (l *taps) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &tap{Conn: nc}
	l.accepted <- c
	return c, nil
}

// tap is a socket that tells whether something was written to it between arm and Close.
type tap struct {
	net.Conn
	mu    sync.Mutex
	armed bool
	wrote bool
}

func (c *tap) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = true
}

func (c *tap) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.wrote = c.wrote || c.armed
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *tap) Close() error {
	c.mu.Lock()
	c.armed = false
	c.mu.Unlock()
	return c.Conn.Close()
}

// fill writes to the socket until it takes no more.
func (c *tap) fill(t *testing.T) {
	t.Helper()
	c.Conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	for {
		if _, err := c.Conn.Write(make([]byte, 1<<20)); err != nil {
			break
		}
	}
	if err := c.Conn.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}

// A stranger that does not read gives way at once: TLS would write to it first, and the goroutine that
// accepts connections would wait for that.
func TestStrangerThatDoesNotReadGivesWay(t *testing.T) {
	sockets := &taps{Listener: listen(t), accepted: make(chan *tap, 8)}
	s := protected(t, Config{Listener: tls.NewListener(sockets, certificate(t))})
	c := dialTLS(t, s.addr())
	if got := show(c.do("PING")); !strings.HasPrefix(got, "-NOAUTH") { // the handshake is over
		t.Fatal(got)
	}
	socket := <-sockets.accepted
	socket.fill(t)
	socket.arm()
	if !s.GiveWay() {
		t.Fatal("no stranger gave way")
	}
	socket.mu.Lock()
	defer socket.mu.Unlock()
	if socket.wrote {
		t.Error("something was written to the stranger before it was closed")
	}
}

// The last connections are kept for administrators.
func TestConnectionsForAdministrators(t *testing.T) {
	s := protected(t, Config{MaxClients: 16})
	var in []*client
	for range 16 {
		c := dial(t, s.addr())
		if strings.HasPrefix(show(c.do("AUTH", "ann", passwordOf("ann"))), "-") {
			c.nc.Close()
			break
		}
		in = append(in, c)
	}
	if len(in) != 14 {
		t.Errorf("%d connections of a user", len(in))
	}
	s.as(t, "root").expect("PONG", "PING")
	in[0].expect("PONG", "PING")
}

// What a connection keeps between requests is charged, bounded, and given back.
func TestKeptMemoryIsCharged(t *testing.T) {
	const budget = 1 << 20
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), ReceiveBytes: budget,
		Logger: slog.New(slog.DiscardHandler)})
	c := dial(t, s.addr())
	long := strings.Repeat("k", 8<<20)
	for _, args := range [][]string{{"WATCH", long}, {"GET", long}, {"BLPOP", long, "0"}, {"TURN.TAIL", long},
		{"CLIENT", "SETNAME", long[:2000]}, {"CLIENT", "SETINFO", "LIB-NAME", long[:2000]},
		append(append([]string{"BLPOP"}, make([]string, 1001)...), "0"),
		append(append([]string{"XREAD", "BLOCK", "0", "STREAMS"}, make([]string, 1001)...), make([]string, 1001)...)} {
		if got := show(c.do(args...)); !strings.HasPrefix(got, "-TOO_LARGE") && !strings.HasPrefix(got, "-OVERLOADED") {
			t.Errorf("%.40q: %.100s", args, got)
		}
	}
	if n := s.Metrics().ReceiveBytes; n != 0 {
		t.Errorf("%d bytes are kept of what was refused", n)
	}
	for what, fill := range map[string]func(i int) []string{
		"watched":    func(i int) []string { return []string{"WATCH", fmt.Sprint(long[:500], i)} },
		"queued":     func(i int) []string { return []string{"SET", fmt.Sprint("k", i), long[:8000]} },
		"subscribed": func(i int) []string { return []string{"SUBSCRIBE", fmt.Sprint(long[:4000], i)} },
	} {
		hog := dial(t, s.addr())
		if what == "queued" {
			hog.expect("OK", "MULTI")
		}
		full := false
		for i := 0; i < 5000 && !full; i++ {
			got := show(hog.do(fill(i)...))
			full = strings.HasPrefix(got, "-OVERLOADED") || strings.HasPrefix(got, "-TOO_LARGE")
		}
		if n := s.Metrics().ReceiveBytes; !full || n > budget*3/4 || n < budget/8 {
			t.Errorf("%s: %d bytes are charged, full %t", what, n, full)
		}
		hog.nc.Close()
		eventually(t, what+" memory is given back", func() bool { return s.Metrics().ReceiveBytes == 0 })
	}
	for _, end := range [][]string{{"UNWATCH"}, {"RESET"}, {"DISCARD"}, {"EXEC"}} {
		c.do("WATCH", "a", "b")
		if end[0] == "DISCARD" || end[0] == "EXEC" {
			c.do("MULTI")
			c.do("SET", "a", "1")
		}
		c.do(end...)
		if n := s.Metrics().ReceiveBytes; n != 0 {
			t.Errorf("%d bytes are kept after %s", n, end[0])
		}
	}
}

// Strangers' requests take nothing from those of users, nor one user's from another's.
func TestMemoryIsShared(t *testing.T) {
	const budget = 8 << 20
	s := protected(t, Config{ReceiveBytes: budget})
	hog := s.as(t, "ann")
	for range 3 {
		c := s.as(t, "ann")
		c.nc.Write(append([]byte("*3\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n$8000000\r\n"), make([]byte, 3<<20)...))
	}
	eventually(t, "a user's share is full", func() bool { return s.Metrics().ReceiveBytes > budget/2 })
	s.as(t, "bob").expect("1", "RPUSH", "b", strings.Repeat("x", 1<<20))
	hog.expect("PONG", "PING")
	if n := s.Metrics().ReceiveBytes; n > budget*3/4 {
		t.Errorf("%d bytes are charged to one user", n)
	}
}

// A tail that could never show anything is refused, not confirmed.
func TestTailOfABadKeyIsRefused(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c := dial(t, s.addr())
	c.do("HELLO", "3")
	for _, key := range []string{"", strings.Repeat("k", 513)} {
		if got := show(c.do("TURN.TAIL", key, "PUSH")); !strings.HasPrefix(got, "-") {
			t.Errorf("a key of %d bytes: %s", len(key), got)
		}
	}
}

// KEYS keeps no more names than an answer may have.
func TestKeysIsBounded(t *testing.T) {
	limits := turn.DefaultLimits()
	limits.ReadBytes = 10 * (32 + 3)
	s := open(t, Config{Engine: openEngine(t, limits)})
	c := dial(t, s.addr())
	for i := range 11 {
		if i == 10 {
			if got := len(c.do("KEYS", "*").Elems); got != 10 {
				t.Errorf("%d keys", got)
			}
		}
		c.do("SET", fmt.Sprint("k", 10+i), "v")
	}
	if got := show(c.do("KEYS", "*")); !strings.HasPrefix(got, "-TOO_LARGE") && !strings.HasPrefix(got, "-ERR") {
		t.Errorf("%s", got)
	}
}

// Strangers do not fill the log.
func TestStrangersAreLoggedOnceASecond(t *testing.T) {
	var log bytes.Buffer
	_, users := newUsersFile(t, testUser{"root", "admin", "['*']", ""})
	s, stop := openStoppable(t,
		Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users,
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
	begun := time.Now()
	for range 100 {
		c := dial(t, s.addr())
		c.send("Host:")
		c.w.Flush()
		c.expectClosed()
	}
	seconds := int(time.Since(begun)/time.Second) + 1
	stop()
	if n := strings.Count(log.String(), "speaks HTTP"); n < 1 || n > seconds+1 {
		t.Errorf("%d lines in %d s", n, seconds)
	}
}

// Handshakes that do not end are counted, and have an end.
func TestHandshakesAreBounded(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Listener: listenTLS(t)})
	var slow []*client
	for range 3 {
		c := dial(t, s.addr())
		if _, err := c.nc.Write([]byte("\x16\x03\x01\x40\x00\x01")); err != nil { // the beginning of a long ClientHello
			t.Fatal(err)
		}
		slow = append(slow, c)
	}
	eventually(t, "they are counted", func() bool { return s.wires.Handshakes.Count() == len(slow) })
	dialTLS(t, s.addr()).expect("PONG", "PING")
	for _, c := range slow {
		c.nc.Close()
	}
	eventually(t, "they have ended", func() bool { return s.wires.Handshakes.Count() == 0 })
}
