package httpapi

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// withTLS gives a server a certificate, and returns what dials it.
func withTLS(t *testing.T) (change func(*Config), dial func(addr string) net.Conn) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	t.Cleanup(s.Close)
	return func(c *Config) { c.TLS = &tls.Config{Certificates: s.TLS.Certificates} }, func(addr string) net.Conn {
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
}

// request is one with so many lines in its head.
func request(lines int, body string) string {
	line := fmt.Sprintf("POST /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n", len(body))
	return line + strings.Repeat("a:\r\n", lines-strings.Count(line, "\n")) + "\r\n" + body
}

// A head has so many lines at most, in every request of a connection and however it is
// cut into packets. Lines of bodies are not counted, nor those that net/http has read into
// its buffer of 4 KiB with the request before.
func TestLinesOfHeads(t *testing.T) {
	change, secured := withTLS(t)
	for name, connect := range map[string]func(d *testServer) net.Conn{
		"plain": func(d *testServer) net.Conn { return d.connect("") },
		"TLS":   func(d *testServer) net.Conn { return secured(d.addr) },
	} {
		t.Run(name, func(t *testing.T) {
			d := startServer(t, func(c *Config) {
				if name == "TLS" {
					change(c)
				}
			})
			for _, before := range []string{"",
				request(maxHeadLines, "{\"messages\":"+strings.Repeat("\n\n", 4*maxHeadLines)+"[{\"data\":1}]}")} {
				for _, cut := range []int{1, 100, 1 << 20} {
					c := connect(d)
					replies := bufio.NewReader(c)
					lines := maxHeadLines + 1
					if before != "" {
						lines += 4 << 10 / len("a:\r\n")
					}
					sent := before + before + request(lines, "")
					go func() {
						for at := 0; at < len(sent); at += cut {
							if _, err := io.WriteString(c, sent[at:min(at+cut, len(sent))]); err != nil {
								return
							}
						}
					}()
					statuses := ""
					for range 1 + 2*min(len(before), 1) {
						c.SetReadDeadline(time.Now().Add(time.Minute))
						res, err := http.ReadResponse(replies, nil)
						if err != nil {
							t.Fatalf("by %d, after %s: %v", cut, statuses, err)
						}
						io.Copy(io.Discard, res.Body)
						statuses += fmt.Sprint(res.StatusCode, " ")
					}
					if want := strings.Repeat("200 ", 2*min(len(before), 1)) + "431 "; statuses != want {
						t.Errorf("by %d: %s, want %s", cut, statuses, want)
					}
					c.Close()
				}
			}
		})
	}
}

// The heads of strangers take so much memory and no more: the oldest give way.
func TestHeadsOfStrangersGiveWay(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Users, c.MemoryBytes = testUsers(t), 16*64<<10 })
	known := d.connect("")
	replies := bufio.NewReader(known)
	if status := get(t, known, replies, "/v1/sessions", bearer("reader")); status != http.StatusOK {
		t.Fatal(status)
	}
	for range 20 {
		d.connect("GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("a:\r\n", 90) + "X: " +
			strings.Repeat("x", 5000))
	}
	eventually(t, "few strangers", func() bool { n := d.connections(); return n >= 2 && n <= 1+64/16 })
	for range 20 { // what a head takes is given back after the request
		if status := get(t, known, replies, "/livez", "X: "+strings.Repeat("x", 15<<10)); status != http.StatusOK {
			t.Fatal(status)
		}
	}
}

// Requests of a stranger over one connection hold no more than one of them does.
func TestHeadsAreGivenBack(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Users, c.MemoryBytes = testUsers(t), 16*64<<10 })
	for range 2 {
		c := d.connect("")
		replies := bufio.NewReader(c)
		for range 10 {
			if status := get(t, c, replies, "/livez", "X: "+strings.Repeat("x", 15<<10)); status != http.StatusOK {
				t.Fatal(status)
			}
		}
	}
	if n := d.connections(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// A stranger gets its answer before the body that is not wanted, for which its
// connection is not held.
func TestRefusedBodiesAreNotAwaited(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Users, c.BodyTime = testUsers(t), time.Hour })
	for header, want := range map[string]int{"Content-Length: 10": 401, "Transfer-Encoding: chunked": 401,
		"Content-Length: 10\r\n" + bearer("foreigner"): 403} {
		c := d.connect("POST /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
			"application/json\r\n" + header + "\r\n\r\n")
		c.SetReadDeadline(time.Now().Add(30 * time.Second))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != want || !res.Close {
			t.Errorf("%s: %v, %+v", header, err, res)
			continue
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("%s: the connection goes on: %v", header, err)
		}
	}
}

// With TLS, every name of the server will do, and who speaks plain HTTP is told so, in the form of all errors; so is
// a Redis client.
func TestTLS(t *testing.T) {
	change, dial := withTLS(t)
	d := startServer(t, change)
	c := dial(d.addr)
	fmt.Fprint(c, "GET /v1/sessions HTTP/1.1\r\nHost: any.name\r\n\r\n")
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 200 {
		t.Errorf("%v, %+v", err, res)
	}
	if a := d.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"); a.status != 400 ||
		!strings.Contains(a.body, `"code":"INVALID","message":"this port takes HTTPS only","outcome":"not_applied"`) {
		t.Errorf("plain HTTP: %+v", a)
	}
	plain, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	fmt.Fprint(plain, "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n")
	if said, _ := io.ReadAll(plain); !strings.HasPrefix(string(said), "-ERR this port takes HTTPS only") {
		t.Errorf("a Redis client without TLS: %q", said)
	}
}

// Handshakes that do not end are counted, and have an end.
func TestHandshakesAreBounded(t *testing.T) {
	change, dial := withTLS(t)
	d := startServer(t, change)
	var slow []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", d.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("\x16\x03\x01\x40\x00\x01")); err != nil { // the beginning of a long ClientHello
			t.Fatal(err)
		}
		slow = append(slow, c)
	}
	eventually(t, "they are counted", func() bool { return d.server.handshakes.Count() == len(slow) })
	dial(d.addr)
	for _, c := range slow {
		c.Close()
	}
	eventually(t, "they have ended", func() bool { return d.server.handshakes.Count() == 0 })
}
