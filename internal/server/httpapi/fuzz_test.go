package httpapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzRequest sends requests that have the form of HTTP, and of which every part is
// anything, without a user, as a user or as an administrator. No request makes the server
// fail for a reason of its own, keep memory, or answer with what is not JSON, and
// without a user changes or shows anything.
func FuzzRequest(f *testing.F) {
	f.Add(uint8(2), "POST", "/v1/sessions/a/messages", "", "Content-Type: application/json",
		`{"messages":[{"id":"i","data":{"a":[1,null]}}],"expect":0}`)
	f.Add(uint8(1), "GET", "/v1/sessions/a/messages", "last=3&max_tokens=9&encoding=base64", "Turnlog-Namespace: 0", "")
	f.Add(uint8(2), "POST", "/v1/sessions/a/rename", "", "", `{"to":"ab","replace":true}`)
	f.Add(uint8(2), "POST", "/v1/sessions/a/fork", "", "Content-Encoding: identity", `{"to":"ab","at":1}`)
	f.Add(uint8(2), "POST", "/v1/transactions", "encoding=base64", "Content-Type: application/json",
		`{"id":"i","conditions":[{"key":"a","exists":true}],"steps":[{"pop":{"key":"a","count":1}},`+
			`{"append":{"key":"b","messages":[{"data":1}]}},{"rename":{"key":"c","to":"d"}}]}`)
	f.Add(uint8(1), "POST", "/v1/transactions", "", "", `{"steps":[{"edit":{"key":"a","seq":1,"data":2}},`+
		`{"remove":{"key":"a","seq":1}},{"replace":{"key":"a","from":1}},{"retain":{"key":"a","messages":1}}]}`)
	f.Add(uint8(2), "DELETE", "/v1/sessions", "prefix=a&all=true", "Origin: http://a", "")
	f.Add(uint8(0), "GET", "/v1/ns/0/sessions/%61", "consistency=bounded&max_age_ms=5", "Authorization: Basic Og==", "")
	f.Add(uint8(2), "POST", "/v1/cluster/nodes", "", "Sec-Fetch-Site: same-origin",
		`{"id":"n9","raft_addr":"127.0.0.1:1"}`)
	f.Add(uint8(0), "OPTIONS", "*", "\x00", "Transfer-Encoding: chunked", "0\r\n\r\n")
	node := newTestNode(f)
	s, err := New(Config{Engine: node, Admin: &testAdmin{}, Users: testUsers(f), Logger: slog.New(slog.DiscardHandler),
		MemoryBytes: 64 << 20})
	if err != nil {
		f.Fatal(err)
	}
	users := []string{"", "reader", "root"}
	for _, u := range users[1:] {
		if _, err := s.cfg.Users.Authenticate(u, testPassword, "fuzz"); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, as uint8, method, path, query, header, body string) {
		user := users[int(as)%len(users)]
		if strings.Contains(path, "stream") {
			t.Skip() // ends with its client only
		}
		r := parseRequest(user, method, path, query, header, body)
		if r == nil {
			t.Skip()
		}
		before := node.applied.Load()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		if kind := w.Header().Get("Content-Type"); kind == "application/json" && r.Method != http.MethodHead &&
			!json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s %s: %d %q", method, path, w.Code, w.Body)
		}
		if user != "root" && node.applied.Load() != before {
			t.Fatalf("%q has changed something: %s %s %s", user, method, path, body)
		}
		if left := s.memory.Left(); left != s.cfg.MemoryBytes {
			t.Fatalf("%d bytes of memory were not given back", s.cfg.MemoryBytes-left)
		}
	})
}

// parseRequest returns the request as a server reads it; nil: it is none.
func parseRequest(user, method, path, query, header, body string) *http.Request {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %s", method, path)
	if query != "" {
		fmt.Fprintf(&text, "?%s", url.PathEscape(query))
	}
	fmt.Fprintf(&text, " HTTP/1.1\r\nHost: localhost\r\n%s\r\n", header)
	if user != "" {
		fmt.Fprintf(&text, "%s\r\n", bearer(user))
	}
	if !slices.ContainsFunc([]string{"content-length", "transfer-encoding"},
		func(name string) bool { return strings.Contains(strings.ToLower(header), name) }) {
		fmt.Fprintf(&text, "Content-Length: %d\r\n", len(body))
	}
	fmt.Fprintf(&text, "\r\n%s", body)
	r, err := http.ReadRequest(bufio.NewReader(io.LimitReader(&text, 1<<20)))
	if err != nil {
		return nil
	}
	return r
}
