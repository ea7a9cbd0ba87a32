package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"
)

// A namespace that is taken away while the body of a write arrives is not written to.
func TestNamespaceLostDuringTheBody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	usersFile(t, path, "ann: right: write, namespaces: ['0']")
	users := openUsers(t, path)
	d := startServer(t, func(c *Config) { c.Users = users })
	body := `{"messages":[{"data":1}]}`
	c := d.connect(fmt.Sprintf("POST /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\n%s\r\n"+
		"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		bearer("ann"), len(body)))
	in := bufio.NewReader(c)
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusContinue {
		t.Fatalf("the head is not admitted: %v, %v", res, err)
	}
	usersFile(t, path, "ann: right: write, namespaces: [elsewhere]")
	if err := users.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, body); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusForbidden || d.node.applied.Load() != 0 {
		t.Fatalf("%v, %v; %d operations applied", res, err, d.node.applied.Load())
	}
}
