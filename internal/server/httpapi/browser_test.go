package httpapi

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	appendPath  = "/v1/sessions/a/messages"
	appendBody1 = `{"messages":[{"data":1}]}`
	jsonType    = "Content-Type: application/json"
)

// A page of another origin must not write through its reader's browser.
func TestCrossOriginWritesAreRefused(t *testing.T) {
	d := startServer(t)
	d.fails(403, "FORBIDDEN", "POST", appendPath, appendBody1, jsonType, "Sec-Fetch-Site: cross-site",
		"Origin: https://evil.example")
	d.fails(403, "FORBIDDEN", "POST", appendPath, appendBody1, jsonType, "Origin: https://evil.example")
	d.fails(403, "FORBIDDEN", "POST", appendPath, appendBody1, jsonType, "Origin: null")
	d.ok("POST", appendPath, appendBody1, jsonType, "Sec-Fetch-Site: same-origin", "Origin: http://"+d.addr)
	d.ok("GET", appendPath, "", "Sec-Fetch-Site: cross-site")
}

// A page whose name was made to resolve to this machine is of the same origin, as
// far as its browser can tell.
func TestReboundNamesAreRefused(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Hosts = []string{"db1.example:7380", ""} })
	for _, host := range []string{"evil.example", "evil.example:7380", "EVIL.example.", "localhost.evil.example",
		"db1.example.evil.example", "127.0.0.1.evil.example"} {
		for _, r := range [][3]string{{"GET", appendPath, ""}, {"POST", appendPath, appendBody1},
			{"GET", "/v1/cluster", ""}, {"GET", "/metrics", ""},
			{"POST", "/v1/cluster/nodes", `{"id":"n9","raft_addr":"127.0.0.1:1"}`}, {"GET", "/readyz", ""}} {
			e := d.fails(403, "FORBIDDEN", r[0], r[1], r[2], jsonType, "Host: "+host, "Origin: http://"+host,
				"Sec-Fetch-Site: same-origin")
			if !strings.Contains(e.Message, "--http-hosts") {
				t.Errorf("%s %s: %s", host, r[1], e.Message)
			}
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST:7380", "127.0.0.1:1", "[::1]:7380", "10.1.2.3", "db1.example",
		"DB1.example.:99"} {
		d.ok("POST", appendPath, appendBody1, jsonType, "Host: "+host, "Origin: http://"+host)
	}
	if len(d.admin.asked) != 0 {
		t.Errorf("a rebound name administered: %q", d.admin.asked)
	}
}

func TestNamesAreFreeWithTLS(t *testing.T) {
	r := httptest.NewRequest("GET", "https://any.example/", nil)
	r.TLS = &tls.ConnectionState{}
	if err := NewHosts().Check(r); err != nil {
		t.Error(err)
	}
}

// What a page can send to any server without asking it first is refused, whatever
// the browser says or leaves out of where it comes from.
func TestBodiesOfPagesAreRefused(t *testing.T) {
	d := startServer(t)
	for _, kind := range []string{"text/plain", "text/plain;charset=UTF-8", "multipart/form-data; boundary=x",
		"application/jsonx", "nonsense;"} {
		for _, r := range [][2]string{{"POST", appendPath}, {"POST", "/v1/sessions/a/clear"},
			{"PATCH", "/v1/sessions/a"}, {"POST", "/v1/cluster/transfer"}} {
			e := d.fails(400, "INVALID", r[0], r[1], appendBody1, "Content-Type: "+kind)
			if !strings.Contains(e.Message, "application/json") {
				t.Errorf("%s: %s", kind, e.Message)
			}
		}
	}
	d.fails(400, "INVALID", "POST", appendPath, appendBody1, "Content-Type: application/x-www-form-urlencoded",
		"Origin: http://"+d.addr)
	d.fails(400, "INVALID", "POST", appendPath, appendBody1, "Sec-Fetch-Site: same-origin")
	if n := d.ok("GET", appendPath, "")["count"]; n != 0.0 {
		t.Fatalf("%v messages were written", n)
	}
	d.ok("POST", appendPath, appendBody1, "Content-Type: application/x-www-form-urlencoded") // curl -d
	d.ok("POST", appendPath, appendBody1, "Content-Type: application/json; charset=utf-8")
}

// Configured origins may read and write, after a preflight; others learn nothing.
func TestOriginsThatAreConfigured(t *testing.T) {
	const app = "https://app.example"
	d := startServer(t, func(c *Config) { c.Origins = []string{app, "http://localhost:3000"} })
	asks := []string{"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type"}
	a := d.do("OPTIONS", appendPath, "", append(asks, "Origin: "+app)...)
	if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != app ||
		!strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Content-Type") {
		t.Fatalf("preflight: %d %v", a.status, a.header)
	}
	a = d.do("POST", appendPath, appendBody1, jsonType, "Origin: "+app, "Sec-Fetch-Site: cross-site")
	if a.status != 200 || a.header.Get("Access-Control-Allow-Origin") != app || a.header.Get("Vary") != "Origin" {
		t.Fatalf("%d %s %v", a.status, a.body, a.header)
	}
	if a := d.do("GET", "/v1/sessions/none", "", "Origin: "+app); a.status != 404 ||
		a.header.Get("Access-Control-Allow-Origin") != app {
		t.Errorf("an error: %d %v", a.status, a.header)
	}
	for _, evil := range []string{"https://evil.example", "http://app.example", app + ".evil.example", "null", ""} {
		for _, header := range [][]string{nil, {"Host: evil.example"}} {
			a := d.do("OPTIONS", appendPath, "", append(append(header, asks...), "Origin: "+evil)...)
			if a.status == http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("preflight of %q: %d %v", evil, a.status, a.header)
			}
		}
	}
	if a := d.do("OPTIONS", appendPath, "",
		append(asks, "Origin: "+app, "Host: evil.example")...); a.status == http.StatusNoContent {
		t.Error("a preflight under a rebound name was granted")
	}
	if _, err := New(Config{Engine: d.node, Origins: []string{"app.example"}}); err == nil {
		t.Error("an origin without a scheme was accepted")
	}
}

// Without users, administration takes the token, which web pages and other users
// of the machine cannot read.
func TestAdministrationTakesTheToken(t *testing.T) {
	d := startServer(t)
	for _, auth := range []string{"Bearer", "Bearer wrong", "Basic " + testToken, "Bearer " + testToken + "x",
		"Bearer default:" + testToken, testToken} {
		for _, r := range [][3]string{{"POST", "/v1/cluster/nodes", `{"id":"n9","raft_addr":"127.0.0.1:1"}`},
			{"DELETE", "/v1/cluster/nodes?id=n1", ""},
			{"POST", "/v1/cluster/transfer", ""}, {"POST", "/v1/cluster/snapshot", ""},
			{"POST", "/v1/cluster/checksum", ""}} {
			if a := d.do(r[0], r[1], r[2], jsonType, "Authorization: "+auth); a.status != 401 ||
				a.header.Get("Turnlog-Admin-Token-File") != "/data/admin-token" {
				t.Errorf("%s %s with %q: %d %s", r[0], r[1], auth, a.status, a.body)
			}
		}
	}
	if len(d.admin.asked) != 0 {
		t.Fatalf("done without the token: %q", d.admin.asked)
	}
	d.ok("POST", "/v1/cluster/transfer", "", "Authorization: bearer "+testToken)

	none := startServer(t, func(c *Config) { c.AdminToken = "" })
	none.fails(403, "FORBIDDEN", "POST", "/v1/cluster/transfer", "", "Authorization: Bearer ")
}

// A body that is announced and does not come takes no memory from others.
func TestAnnouncedBodiesTakeNoMemory(t *testing.T) {
	const most = 24 << 20
	d := startServer(t, func(c *Config) { c.MemoryBytes = most })
	for range 12 {
		c, err := net.Dial("tcp", d.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+
			"%d\r\n\r\n{", appendPath, 16<<20)
	}
	eventually(t, "twelve bodies begun", func() bool { return d.server.memory.Left() <= most-12*firstRead })
	d.ok("POST", appendPath, `{"messages":[{"data":"`+strings.Repeat("x", 7<<20)+`"}]}`)
}
