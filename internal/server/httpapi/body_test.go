package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener within one process, so that time can be a test's.
type pipes struct {
	in     chan net.Conn
	closed chan struct{}
}

func listenPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.in:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) connect() net.Conn {
	client, server := net.Pipe()
	p.in <- server
	return client
}

// append begins a request with a body of so many bytes.
func appendHead(size int) string {
	return fmt.Sprintf("POST /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%s\r\n\r\n",
		size, bearer("owner"))
}

// A body may take as long as its size needs at the lowest rate, and its client may pause.
// One that is slower for 20 s ends, whatever arrived before, and holds no memory then.
func TestSlowBodies(t *testing.T) {
	whole := `{"messages":[{"data":"` + strings.Repeat("x", 3<<19) + `"}]}`
	for name, c := range map[string]struct {
		first int // bytes at once
		pause time.Duration
		each  int // bytes after each pause
		want  int
		ends  time.Duration // no later
	}{
		"at once":           {len(whole), 0, 0, 200, 0},
		"steadily":          {0, time.Second, 10 << 10, 200, 160 * time.Second},
		"with pauses":       {0, 15 * time.Second, 300 << 10, 200, 90 * time.Second},
		"dripping":          {0, time.Second, 1, 400, 21 * time.Second},
		"dripping at last":  {len(whole) - 1000, time.Second, 1, 400, 21 * time.Second},
		"slowly at last":    {1 << 20, time.Second, 4 << 10, 400, 41 * time.Second},
		"stopping":          {8, time.Hour, 1, 400, 20 * time.Second},
		"stopping at last":  {len(whole) - 1, time.Hour, 1, 400, 20 * time.Second},
		"slowly, and whole": {len(whole) - 40<<10, time.Second, 5 << 10, 200, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := listenPipes()
				d := startServerAt(t, l, func(c *Config) { c.Users = testUsers(t) })
				conn := l.connect()
				began := time.Now()
				sent := make(chan struct{})
				defer func() { conn.Close(); <-sent }()
				go func() {
					defer close(sent)
					_, err := io.WriteString(conn, appendHead(len(whole))+whole[:c.first])
					for rest := whole[c.first:]; err == nil && rest != ""; {
						time.Sleep(c.pause)
						n := min(c.each, len(rest))
						_, err = io.WriteString(conn, rest[:n])
						rest = rest[n:]
					}
				}()
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(res.Body)
				if took := time.Since(began); res.StatusCode != c.want || took > c.ends {
					t.Errorf("%d %s after %v", res.StatusCode, body, took)
				}
				if says := "slower than 8 KiB/s for 20s"; c.want == 400 &&
					(!strings.Contains(string(body), says) || !strings.Contains(string(body), `"not_applied"`)) {
					t.Errorf("it says %s", body)
				}
				synctest.Wait()
				if left := d.server.memory.Left(); left != d.server.cfg.MemoryBytes {
					t.Errorf("%d bytes are held", d.server.cfg.MemoryBytes-left)
				}
			})
		})
	}
}
