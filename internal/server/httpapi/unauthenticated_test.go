package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// connect opens a connection and sends what a request begins with.
func (d *testServer) connect(begin string) net.Conn {
	d.t.Helper()
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, begin); err != nil {
		d.t.Fatal(err)
	}
	return c
}

// get sends a request over a connection that stays.
func get(t *testing.T, c net.Conn, replies *bufio.Reader, path, header string) (status int) {
	t.Helper()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", path, header)
	res, err := http.ReadResponse(replies, nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// Connections over which no user has authenticated give way when they are too many,
// the oldest first: users come in, and those that are in stay.
func TestStrangersGiveWay(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Users, c.MaxConns = testUsers(t), 8 })
	known := d.connect("")
	replies := bufio.NewReader(known)
	if status := get(t, known, replies, "/v1/sessions", bearer("reader")); status != http.StatusOK {
		t.Fatal(status)
	}
	first := d.connect("GET /v1")
	for range 30 {
		d.connect("GET /v1")
		c := d.connect("")
		if status := get(t, c, bufio.NewReader(c), "/v1/sessions", bearer("reader")); status != http.StatusOK {
			t.Fatal(status)
		}
		c.Close()
	}
	first.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadAll(first); err != nil && isTimeout(err) {
		t.Error("the first stranger is still there")
	}
	if status := get(t, known, replies, "/v1/sessions", bearer("reader")); status != http.StatusOK {
		t.Error(status)
	}
	if n := d.connections(); n > 8 {
		t.Errorf("%d connections", n)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

// When users have all connections, strangers are told so, and users keep theirs.
func TestUsersDoNotGiveWay(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Users, c.MaxConns = testUsers(t), 4 })
	var in []net.Conn
	for range 4 {
		c := d.connect("")
		if status := get(t, c, bufio.NewReader(c), "/v1/sessions", bearer("reader")); status != http.StatusOK {
			t.Fatal(status)
		}
		in = append(in, c)
	}
	c := d.connect("")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, c := range in {
		if status := get(t, c, bufio.NewReader(c), "/v1/sessions", bearer("reader")); status != http.StatusOK {
			t.Error(status)
		}
	}
}

// A body that is refused holds its connection for a time only, however it drips.
func TestRefusedBodiesEnd(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Users, c.BodyTime = testUsers(t), 300*time.Millisecond })
	c := d.connect("POST /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
		"application/json\r\nContent-Length: 200000\r\n\r\n")
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, c)
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return
		case <-t.Context().Done():
			t.Fatal("it does not end")
		case <-time.After(20 * time.Millisecond):
			io.WriteString(c, " ")
		}
	}
}

// The last connections are kept for administrators: of the listener's, and of the
// descriptors of all listeners.
func TestConnectionsForAdministrators(t *testing.T) {
	b := descriptors.New(256, func() int { return 0 })
	other := b.Pool()
	for other.Take() && other.Know(false) { // the user's at the other listener
	}
	for name, change := range map[string]func(*Config){
		"connections": func(c *Config) { c.MaxConns = 16 },
		"descriptors": func(c *Config) { c.Descriptors = b.Pool() },
	} {
		t.Run(name, func(t *testing.T) {
			d := startServer(t, func(c *Config) { c.Users = testUsers(t) }, change)
			in := 0
			for status := http.StatusOK; status == http.StatusOK; in++ {
				c := d.connect("")
				status = get(t, c, bufio.NewReader(c), "/v1/sessions", bearer("reader"))
			}
			if name == "connections" && in != 15 {
				t.Errorf("a user has %d connections and is refused the next", in-1)
			}
			for range 2 {
				c := d.connect("")
				if status := get(t, c, bufio.NewReader(c), "/v1/sessions", bearer("root")); status != http.StatusOK {
					t.Errorf("an administrator: %d", status)
				}
			}
		})
	}
}

// A preflight does not hold its connection for a body that it has no use for.
func TestPreflightsWithBodiesEnd(t *testing.T) {
	const app = "https://app.example"
	d := startServer(t, func(c *Config) { c.Origins = []string{app} })
	c := d.connect("OPTIONS /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\nOrigin: " + app +
		"\r\nAccess-Control-Request-Method: POST\r\nContent-Length: 10\r\n\r\n")
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 204 ") {
		t.Errorf("%q, %v", b, err)
	}
}

// A user whose requests stop before their end holds three quarters of the memory for
// bodies at most: there is some for another.
func TestOneUserLeavesMemory(t *testing.T) {
	const all = 4 << 20
	d := startServer(t, func(c *Config) { c.Users, c.MemoryBytes = testUsers(t), all })
	held := func() int64 { return all - d.server.memory.Left() }
	for range 60 {
		d.connect("POST /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\n" + bearer("owner") +
			"\r\nContent-Type: application/json\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat(" ", 69000))
	}
	eventually(t, "much is held", func() bool { return held() > all*3/4-200_000 })
	body := `{"messages":[{"data":"` + strings.Repeat("x", 70_000) + `"}]}`
	if a := d.do("POST", "/v1/sessions/z/messages", body, bearer("root")); a.status != http.StatusOK {
		t.Errorf("another user: %d %s", a.status, a.body)
	}
	if n := held(); n > all*3/4 {
		t.Errorf("one user holds %d of %d bytes", n, all)
	}
}
