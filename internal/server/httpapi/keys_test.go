package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// raw sends a request whose target is exactly that, which http.Client would not.
func (d *testServer) raw(method, target, body string) answer {
	d.t.Helper()
	conn, err := net.Dial("tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method,
		target, len(body), body)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// escapeAll encodes every byte.
func escapeAll(key string) string {
	var b strings.Builder
	for i := range len(key) {
		fmt.Fprintf(&b, "%%%02X", key[i])
	}
	return b.String()
}

func TestEveryKeyIsItsOwnSession(t *testing.T) {
	d := startServer(t)
	keys := []string{
		"a", "A", "a b", "a+b", ".", "..", "...", "/", "//", "a/", "/a", "a//b", "a/../b", "./a", "../../livez", "%",
		"%2F", "a%2Fb",
		"\x00", "a\x00", "a\x00b", "\xff\xfe", "é", "e\u0301", "messages", "a/messages", "?", "#", "a?b=c", "a;b",
		"a,b", ":", "*", "[a]", "{key}",
		"\n", "\r\n", "\x7f", "🙂\u200d🙂", "|", "\"", "\\", strings.Repeat("k", 512), strings.Repeat("\x00", 512),
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		b := make([]byte, 1+r.IntN(20))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		keys = append(keys, string(b))
	}
	for i, k := range keys {
		a := d.raw("POST", "/v1/sessions/"+escapeAll(k)+"/messages",
			fmt.Sprintf(`{"messages":[{"data":%d}],"expect":0}`, i))
		if a.status != http.StatusOK {
			t.Fatalf("key %q: %d %s", k, a.status, a.body)
		}
	}
	for i, k := range keys {
		targets := []string{escapeAll(k)}
		if k != "." && k != ".." { // which stand for themselves in a path, unescaped
			targets = append(targets, url.PathEscape(k))
		}
		for _, target := range targets {
			a := d.raw("GET", "/v1/sessions/"+target+"/messages", "")
			var m struct {
				Messages []struct{ Data int }
			}
			if err := json.Unmarshal([]byte(a.body), &m); err != nil || len(m.Messages) != 1 ||
				m.Messages[0].Data != i {
				t.Errorf("key %q as %s: %d %s, want message %d", k, target, a.status, a.body, i)
			}
		}
	}
	list := d.ok("GET", "/v1/sessions?limit=1000", "")
	if got := len(list["sessions"].([]any)); got != len(keys) {
		t.Errorf("%d sessions are listed, want %d", got, len(keys))
	}
}

// Nothing is cleaned or redirected: a path that is not one of ours is not there.
func TestPathsAreTakenAsSent(t *testing.T) {
	d := startServer(t)
	d.append("a", "1")
	d.append("%2E%2E", "2")
	for target, want := range map[string]int{
		"/v1/sessions/../messages":                 http.StatusOK, // the session ".."
		"/v1/sessions/a/../a/messages":             http.StatusNotFound,
		"/v1/sessions/a//messages":                 http.StatusNotFound,
		"/v1/sessions/a/messages/":                 http.StatusNotFound,
		"//v1/sessions/a/messages":                 http.StatusNotFound,
		"/v1//sessions/a/messages":                 http.StatusNotFound,
		"/v1/./sessions/a/messages":                http.StatusNotFound,
		"/v1/sessions//messages":                   http.StatusBadRequest, // an empty key
		"/v1/sessions/":                            http.StatusBadRequest,
		"/v1/sessions":                             http.StatusOK,
		"/":                                        http.StatusNotFound,
		"/v1":                                      http.StatusNotFound,
		"/livez/":                                  http.StatusNotFound,
		"/v1/ns/0/sessions/a":                      http.StatusOK,
		"/v1/ns/0/sessions":                        http.StatusOK,
		"/v1/ns//sessions":                         http.StatusNotFound,
		"/v1/ns/0/cluster":                         http.StatusNotFound,
		"/v1/ns/0":                                 http.StatusNotFound,
		"/v1/ns/%2E/sessions/a":                    http.StatusNotFound, // a namespace without that session
		"/v1/ns/a%2Fb/sessions/a":                  http.StatusBadRequest,
		"/v1/sessions/a%2Fmessages":                http.StatusNotFound, // the session "a/messages"
		"http://localhost/v1/sessions/a":           http.StatusOK,
		"/v1/sessions/" + escapeAll("a|/b"):        http.StatusNotFound,
		"/v1/sessions/a|%2Fb":                      http.StatusNotFound,
		"/v1/sessions/" + strings.Repeat("k", 513): http.StatusRequestEntityTooLarge,
	} {
		if a := d.raw("GET", target, ""); a.status != want {
			t.Errorf("GET %s: %d %s; want %d", target, a.status, a.body, want)
		}
	}
	d.raw("POST", "/v1/sessions/"+escapeAll("a|/b")+"/messages", `{"messages":[{"data":3}]}`)
	if a := d.raw("GET", "/v1/sessions/a|%2Fb", ""); a.status != http.StatusOK {
		t.Errorf("a key sent half encoded is not found: %d %s", a.status, a.body)
	}
}

func TestNamespaces(t *testing.T) {
	d := startServer(t)
	d.append("a", `"zero"`)
	d.ok("POST", "/v1/ns/n1/sessions/a/messages", `{"messages":[{"data":"one"}]}`)
	d.ok("POST", "/v1/sessions/a/messages", `{"messages":[{"data":"two"}]}`, "Turnlog-Namespace: n2")
	for path, want := range map[string]string{
		"/v1/sessions/a/messages": "zero", "/v1/ns/0/sessions/a/messages": "zero",
		"/v1/ns/n1/sessions/a/messages": "one", "/v1/ns/n2/sessions/a/messages": "two",
	} {
		if got := d.ok("GET", path, "")["messages"].([]any); len(got) != 1 || got[0].(map[string]any)["data"] != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
	d.ok("GET", "/v1/ns/n1/sessions/a", "", "Turnlog-Namespace: n1")
	d.fails(400, "INVALID", "GET", "/v1/ns/n1/sessions/a", "", "Turnlog-Namespace: n2")
	d.fails(400, "INVALID", "GET", "/v1/sessions/a", "", "Turnlog-Namespace: n1", "Turnlog-Namespace: n2")
	d.fails(400, "INVALID", "GET", "/v1/sessions/a", "", "Turnlog-Namespace: ")
	d.fails(400, "INVALID", "GET", "/v1/ns/a%20b/sessions/a", "")
}

func TestUnknownPathsAndMethods(t *testing.T) {
	d := startServer(t)
	d.fails(404, "NOT_FOUND", "GET", "/v2/sessions", "")
	d.fails(405, "INVALID", "PUT", "/v1/sessions/a", "")
	if a := d.do("BREW", "/v1/sessions/a", ""); a.status != 405 || a.header.Get("Allow") != "DELETE, GET, HEAD, PATCH" {
		t.Errorf("got %d, Allow %q", a.status, a.header.Get("Allow"))
	}
	if a := d.do("HEAD", "/livez", ""); a.status != 200 || a.body != "" {
		t.Errorf("HEAD /livez: %d %q", a.status, a.body)
	}
	if a := d.do("HEAD", "/v1/sessions/a/messages/stream", ""); a.status != 200 || a.body != "" {
		t.Errorf("HEAD of a stream: %d %q", a.status, a.body)
	}
	if a := d.raw("OPTIONS", "*", ""); a.status >= 500 {
		t.Errorf("OPTIONS *: %d", a.status)
	}
}
