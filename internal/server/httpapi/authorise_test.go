package httpapi

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/turn"
)

// testPassword is everybody's.
const testPassword = "s:3cret"

var testHash = sync.OnceValue(func() string {
	hash, err := auth.HashPassword(testPassword, strings.NewReader("salt of sixteen!"))
	if err != nil {
		panic(err)
	}
	return hash
})

func usersFile(t testing.TB, path string, entries ...string) {
	text := "version: 1\nusers:\n"
	for _, e := range entries {
		name, rest, _ := strings.Cut(e, ": ")
		text += fmt.Sprintf("  - {name: %s, passwords: ['%s'], %s}\n", name, testHash(), rest)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func openUsers(t testing.TB, path string) *auth.Users {
	users, err := auth.Open(path, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return users
}

// testUsers are users of every kind, as seen from the session a of namespace 0.
func testUsers(t testing.TB) *auth.Users {
	path := filepath.Join(t.TempDir(), "users.yaml")
	usersFile(t, path,
		"root: right: admin, namespaces: ['*']",
		"owner: right: write, namespaces: ['0'], prefixes: [a, b, c, new, absent, ke, kk, \"\\xff\"]",
		"reader: right: read, namespaces: ['*']",
		"foreigner: right: write, namespaces: [elsewhere]",
		"neighbour: right: write, namespaces: ['0'], prefixes: [z]",
		"norights: right: read, namespaces: []")
	return openUsers(t, path)
}

func bearer(user string) string { return "Authorization: Bearer " + user + ":" + testPassword }

// Every documented operation, asked for by somebody who may not, is refused and
// changes nothing; who may, may.
func TestEveryOperationIsAuthorised(t *testing.T) {
	s := loadSpec(t)
	users := testUsers(t)
	for _, op := range s.operations() {
		if op.id == "streamMessages" {
			continue // see TestStreamEndsWithTheRight
		}
		e := examples[op.id]["200"][0]
		d := startServer(t)
		d.seed()
		rev := fmt.Sprint(d.ok("GET", "/v1/sessions/a", "")["revision"])
		path := e.path
		if path == "" {
			path = strings.Replace(op.path, "{key}", "a", 1)
		}
		query := ""
		if e.query != "" {
			query = "?" + strings.ReplaceAll(e.query, "REV", rev)
		}
		body := strings.ReplaceAll(e.body, "REV", rev)
		d.server.cfg.Users = users
		before := d.node.applied.Load()
		for _, user := range []string{"", "stranger", "foreigner", "neighbour", "reader", "norights"} {
			var headers []string
			if user != "" {
				headers = []string{bearer(user)}
			}
			a := d.do(op.method, path+query, body, headers...)
			want := http.StatusForbidden
			switch open := op.object["security"] != nil; {
			case open:
				want = http.StatusOK
			case user == "" || user == "stranger":
				want = http.StatusUnauthorized
				if len(a.header.Values("WWW-Authenticate")) != 2 {
					t.Errorf("%s: WWW-Authenticate is %q", op.id, a.header.Values("WWW-Authenticate"))
				}
			case op.id == "getCluster", op.id == "getMetrics", user == "neighbour" && op.id == "listSessions",
				user == "reader" && op.method == "GET" && op.id != "backupNode":
				want = http.StatusOK
			}
			if a.status != want {
				t.Errorf("%s by %q: status %d %.200s; want %d", op.id, user, a.status, a.body, want)
			}
			if user != "reader" && strings.Contains(a.body, `"key":"a"`) {
				t.Errorf("%s shows %q the key: %s", op.id, user, a.body)
			}
		}
		if d.node.applied.Load() != before || len(d.admin.asked) > 0 {
			t.Errorf("%s changed something: %v", op.id, d.admin.asked)
		}
		d.server.cfg.Users = nil
		clean := d.do(op.method, path+query, body)
		for _, user := range []string{"root", "owner"} {
			again := startServer(t)
			again.seed()
			again.server.cfg.Users = users
			want := clean.status
			if user == "owner" && (strings.Contains(op.path, "/cluster/") || op.id == "deleteSessions") {
				want = http.StatusForbidden
			}
			if a := again.do(op.method, path+query, body, bearer(user)); a.status != want {
				t.Errorf("%s by %s: status %d %s", op.id, user, a.status, a.body)
			}
		}
	}
}

func TestCredentials(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Users = testUsers(t) })
	basic := func(pair string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
	}
	for header, status := range map[string]int{
		"Authorization: Bearer root:" + testPassword:  200,
		"authorization: bearer  root:" + testPassword: 200,
		basic("root:" + testPassword):                 200,
		basic("root:wrong"):                           401,
		basic("root"):                                 401,
		"Authorization: Bearer root":                  401,
		"Authorization: Bearer :":                     401,
		"Authorization: Digest root:" + testPassword:  401,
		"Authorization: " + testPassword:              401,
		"X-None: 1":                                   401,
	} {
		if a := d.do("GET", "/v1/sessions", "", header); a.status != status {
			t.Errorf("%s: status %d", header, a.status)
		}
	}
	d.fails(401, "UNAUTHORIZED", "GET", "/metrics", "")
	d.server.cfg.OpenMetrics = true
	d.server.router.routes = d.server.routes()
	if a := d.do("GET", "/metrics", ""); a.status != 200 {
		t.Errorf("open metrics: status %d", a.status)
	}
}

// What is in the body or the query is authorised as what is in the path.
func TestBodiesAreAuthorised(t *testing.T) {
	d := startServer(t)
	d.append("a1", "1")
	d.append("z1", "1")
	d.append("z2", "1")
	d.server.cfg.Users = testUsers(t)
	me := bearer("neighbour")
	d.fails(403, "FORBIDDEN", "POST", "/v1/sessions/z1/fork", `{"to":"a2"}`, me)
	d.fails(403, "FORBIDDEN", "POST", "/v1/sessions/a1/fork", `{"to":"z3"}`, me)
	d.fails(403, "FORBIDDEN", "POST", "/v1/sessions/z1/rename", `{"to":"a2"}`, me)
	d.fails(403, "FORBIDDEN", "POST", "/v1/sessions/a1/rename", `{"to":"z3","replace":true}`, me)
	d.fails(403, "FORBIDDEN", "DELETE", "/v1/sessions?prefix=&all=true", "", me)
	d.fails(403, "FORBIDDEN", "DELETE", "/v1/sessions?prefix=a", "", me)
	d.fails(403, "FORBIDDEN", "GET", "/v1/ns/elsewhere/sessions/z1", "", me)
	d.fails(403, "FORBIDDEN", "GET", "/v1/sessions/z1", "", me, "Turnlog-Namespace: elsewhere")
	var seen []string
	cursor := ""
	for {
		page := d.ok("GET", "/v1/sessions?limit=1&cursor="+cursor, "", me)
		for _, s := range page["sessions"].([]any) {
			seen = append(seen, s.(map[string]any)["key"].(string))
		}
		if cursor = page["cursor"].(string); cursor == "" {
			break
		}
	}
	if fmt.Sprint(seen) != "[z1 z2]" {
		t.Errorf("listed: %v", seen)
	}
	if got := d.ok("DELETE", "/v1/sessions?prefix=z", "", me)["removed"]; fmt.Sprint(got) != "2" {
		t.Errorf("removed %v", got)
	}
}

// A stream shows nothing after its user has lost the right to see it.
func TestStreamEndsWithTheRight(t *testing.T) {
	for name, after := range map[string]string{"FORBIDDEN": "ann: right: read, namespaces: ['0'], prefixes: [z]",
		"UNAUTHORIZED": "bob: right: read, namespaces: ['0']"} {
		path := filepath.Join(t.TempDir(), "users.yaml")
		usersFile(t, path, "ann: right: read, namespaces: ['0']")
		users := openUsers(t, path)
		d := startServer(t, func(c *Config) { c.Users = users })
		key := turn.Key{Namespace: "0", Name: "a"}
		say := func(text string) {
			if _, err := d.node.Apply(context.Background(),
				&turn.Append{Key: key, Messages: []turn.NewMessage{{Data: []byte(text)}}}); err != nil {
				t.Fatal(err)
			}
		}
		d.fails(401, "UNAUTHORIZED", "GET", "/v1/sessions/a/messages/stream", "")
		say("1")
		st := d.tail("/v1/sessions/a/messages/stream", bearer("ann"))
		if e := st.next(); e.id != "1" {
			t.Fatalf("%+v", e)
		}
		usersFile(t, path, after)
		if err := users.Reload(); err != nil {
			t.Fatal(err)
		}
		say("2")
		if e := st.next(); e.name != "failure" || !strings.Contains(e.data, name) {
			t.Errorf("after the right was lost: %+v", e)
		}
	}
}

// meanwhile is an engine of whose reads one has something happen before it reads.
type meanwhile struct {
	Engine
	left    atomic.Int32 // reads before that one
	happens func()
}

func (m *meanwhile) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if m.left.Add(-1) == 0 {
		m.happens()
	}
	return m.Engine.Query(ctx, q, c)
}

// A read that is on its way when the right goes does not show what came after that, whichever of its queries it is at.
func TestReadOnItsWayEndsWithTheRight(t *testing.T) {
	for query := range int32(3) {
		path := filepath.Join(t.TempDir(), "users.yaml")
		usersFile(t, path, "ann: right: read, namespaces: ['0']")
		users := openUsers(t, path)
		var m meanwhile
		d := startServer(t, func(c *Config) {
			c.Users, m.Engine = users, c.Engine
			c.Engine = &m
		})
		m.left.Store(query + 1)
		m.happens = func() {
			usersFile(t, path, "bob: right: read, namespaces: ['0']")
			if err := users.Reload(); err != nil {
				t.Error(err)
			}
			if _, err := d.node.Apply(context.Background(), &turn.Append{Key: turn.Key{Namespace: "0", Name: "a"},
				Messages: []turn.NewMessage{{Data: []byte("hidden")}}}); err != nil {
				t.Error(err)
			}
		}
		a := d.do("GET", "/v1/sessions/a/messages", "", bearer("ann"))
		if query == 0 && m.left.Load() > 0 {
			t.Error("nothing was read")
		}
		if m.left.Load() <= 0 && a.status != http.StatusUnauthorized || strings.Contains(a.body, "hidden") {
			t.Errorf("query %d: %d %s", query, a.status, a.body)
		}
	}
}
