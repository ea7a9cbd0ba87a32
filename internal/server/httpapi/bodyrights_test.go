package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/turnlog/turnlog/internal/auth"
)

// A namespace that is taken away while the body of a write arrives is not written to.
func TestNamespaceLostDuringTheBody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	usersFile(t, path, "ann: right: write, namespaces: ['0']")
	users := openUsers(t, path)
	d := startServer(t, func(c *Config) { c.Users = users })
	res := d.changedMeanwhile("/v1/sessions/a/messages", `{"messages":[{"data":1}]}`, users, func() {
		usersFile(t, path, "ann: right: write, namespaces: [elsewhere]")
	})
	if res.StatusCode != http.StatusForbidden || d.node.applied.Load() != 0 {
		t.Fatalf("%v; %d operations applied", res, d.node.applied.Load())
	}
}

// An administrator who loses the right while the body arrives changes nothing.
func TestAdminLostDuringTheBody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	for endpoint, body := range map[string]string{
		"nodes": `{"id":"n4","raft_addr":"127.0.0.1:1"}`, "checksum": "{}", "transfer": "{}", "snapshot": "{}",
	} {
		for _, less := range []string{"ann: right: write, namespaces: ['*']", "bob: right: admin, namespaces: ['*']"} {
			usersFile(t, path, "ann: right: admin, namespaces: ['*']")
			users := openUsers(t, path)
			d := startServer(t, func(c *Config) { c.Users = users })
			res := d.changedMeanwhile("/v1/cluster/"+endpoint, body, users, func() { usersFile(t, path, less) })
			if res.StatusCode != http.StatusForbidden && res.StatusCode != http.StatusUnauthorized ||
				len(d.admin.asked) > 0 {
				t.Errorf("%s, then %s: %v; the node was asked for %q", endpoint, less, res.Status, d.admin.asked)
			}
		}
	}
}

// changedMeanwhile has ann send a request, and the users change between its head and its body.
func (d *testServer) changedMeanwhile(path, body string, users *auth.Users, change func()) *http.Response {
	d.t.Helper()
	c := d.connect(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n"+
		"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		path, bearer("ann"), len(body)))
	in := bufio.NewReader(c)
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusContinue {
		d.t.Fatalf("the head is not admitted: %v, %v", res, err)
	}
	change()
	if err := users.Reload(); err != nil {
		d.t.Fatal(err)
	}
	if _, err := io.WriteString(c, body); err != nil {
		d.t.Fatal(err)
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return res
}
