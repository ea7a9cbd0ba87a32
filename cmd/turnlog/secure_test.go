package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/auth/certs"
)

// secured is a directory with everything that a protected cluster needs.
type secured struct {
	shell
	dir       string
	passwords map[string]string
}

func newSecured(t *testing.T) *secured {
	s := &secured{shell: shell{t, ""}, dir: t.TempDir(), passwords: make(map[string]string)}
	s.ok("cert", "ca", "--dir", s.dir)
	for _, id := range []string{"n1", "n2", "n3", "n4"} {
		s.ok("cert", "node", id, "--dir", s.dir, "--host", "127.0.0.1", "--host", "localhost")
	}
	s.user("root", "--right", "admin", "--allow-namespace", "*")
	s.user("bot", "--allow-namespace", "0", "--allow-prefix", "chat:")
	return s
}

func (s *secured) file(name string) string { return filepath.Join(s.dir, name) }

func (s *secured) user(name string, more ...string) {
	args := append([]string{"user", "add", name, "--file", s.file("users.yaml")}, more...)
	s.passwords[name] = strings.TrimSpace(s.ok(args...))
}

// flags are those of a node with users and TLS.
func (s *secured) flags(id string) []string {
	cert, key := s.file(id+".crt"), s.file(id+".key")
	return []string{"--node-id", id, "--users-file", s.file("users.yaml"), "--tls-cert", cert, "--tls-key", key,
		"--node-tls-cert", cert, "--node-tls-key", key, "--node-tls-ca", s.file("ca.crt")}
}

// as returns the global flags of a user.
func (s *secured) as(user string) []string {
	file := s.file(user + ".password")
	if err := os.WriteFile(file, []byte(s.passwords[user]+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return []string{"--tls-ca", s.file("ca.crt"), "--user", user, "--password-file", file}
}

func (s *secured) tls() *tls.Config {
	pool, err := certs.Pool(s.file("ca.crt"))
	if err != nil {
		s.t.Fatal(err)
	}
	return &tls.Config{RootCAs: pool}
}

func (s *secured) client() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: s.tls(), DisableKeepAlives: true},
		Timeout: 20 * time.Second}
}

// start starts a node and waits until it is ready.
func (s *secured) start(resp, http, raft string, more ...string) *process {
	args := append([]string{"serve", "--resp-addr", resp, "--http-addr", http, "--raft-addr", raft}, s.flags("n1")...)
	p := startProcess(s.t, nil, append(args, more...)...)
	client := s.client()
	_, port, _ := strings.Cut(http, ":")
	p.until("ready", func() bool {
		res, err := client.Get("https://127.0.0.1:" + port + "/readyz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == 200
	})
	return p
}

// A node with users and TLS listens on every interface, and lets in whom the users
// file names, through every API.
func TestProtectedNode(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	ports := freePorts(t, 3)
	_, respPort, _ := strings.Cut(ports[0], ":")
	s.addr = ports[0]
	p := s.start("0.0.0.0:"+respPort, ports[1], ports[2], "--data-dir", s.file("data"))

	with := func(user string, args ...string) []string { return append(args, s.as(user)...) }
	s.ok(with("bot", "append", "chat:1", `{"a":1}`)...)
	s.fails(cli.ExitFailed, "FORBIDDEN", with("bot", "append", "other", `{"a":1}`)...)
	s.fails(cli.ExitFailed, "", append([]string{"read", "chat:1", "--timeout", "1s"}, "--tls-ca", s.file("ca.crt"))...)
	s.fails(cli.ExitUsage, "TURNLOG_PASSWORD", "read", "chat:1", "--user", "bot", "--tls-ca", s.file("ca.crt"))
	s.ok(with("root", "cluster", "checksum")...)
	s.fails(cli.ExitUnknown, "right", with("bot", "cluster", "checksum")...)
	s.fails(cli.ExitFailed, "cannot be reached",
		append(with("bot", "read", "chat:1", "--timeout", "1s"), "--tls-ca", s.otherAuthority())...)

	rdb := redis.NewClient(&redis.Options{Addr: "localhost:" + respPort, TLSConfig: s.tls(), Username: "bot",
		Password: s.passwords["bot"]})
	defer rdb.Close()
	if n, err := rdb.LLen(t.Context(), "chat:1").Result(); n != 1 || err != nil {
		t.Errorf("go-redis: %d, %v", n, err)
	}
	if status := s.get("https://"+ports[1]+"/v1/sessions/chat%3A1/messages", "bot", s.passwords["bot"]); status != 200 {
		t.Errorf("HTTPS: status %d", status)
	}
	if status := s.get("https://"+ports[1]+"/v1/sessions/chat%3A1/messages", "bot", "wrong"); status != 401 {
		t.Errorf("HTTPS with a wrong password: status %d", status)
	}

	// A user who is taken away is refused, on connections that stand.
	s.ok("user", "remove", "bot", "--file", s.file("users.yaml"))
	s.ok("cert", "node", "n1", "--dir", s.dir, "--host", "127.0.0.1", "--host", "localhost", "--force")
	p.cmd.Process.Signal(syscall.SIGHUP)
	p.until("read again", func() bool { return strings.Contains(p.text(), "reloaded the users file") })
	if err := rdb.LLen(t.Context(), "chat:1").Err(); err == nil || !strings.HasPrefix(err.Error(), "NOAUTH") {
		t.Errorf("after the user was removed: %v", err)
	}
	s.ok(with("root", "read", "chat:1")...)
	if got := strings.Count(p.text(), "msg=certificate "); got != 4 {
		t.Errorf("certificates were read %d times", got)
	}
	if status := p.stop(syscall.SIGTERM); status != 0 {
		t.Errorf("status %d", status)
	}
}

func (s *secured) otherAuthority() string {
	s.ok("cert", "ca", "--dir", s.file("other"))
	return s.file("other/ca.crt")
}

func (s *secured) get(url, user, password string) int {
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth(user, password)
	res, err := s.client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// Three nodes that show each other certificates are a cluster; one with those of
// another authority does not get in.
func TestProtectedCluster(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	raft, resp, web := freePorts(t, 4), freePorts(t, 4), freePorts(t, 4)
	cluster := fmt.Sprintf("n1=%s,n2=%s,n3=%s", raft[0], raft[1], raft[2])
	var nodes []*process
	for i := range 3 {
		args := append([]string{"serve", "--data-dir", s.file(fmt.Sprint("data", i)), "--initial-cluster", cluster,
			"--resp-addr", resp[i], "--http-addr", web[i], "--raft-addr", raft[i]}, s.flags(fmt.Sprint("n", i+1))...)
		nodes = append(nodes, startProcess(t, nil, args...))
	}
	client := s.client()
	nodes[2].until("ready", func() bool {
		res, err := client.Get("https://" + web[2] + "/readyz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == 200
	})
	// Through every node, so that two of the writes are forwarded.
	for i := range 3 {
		s.addr = resp[i]
		s.ok(append(s.as("bot"), "append", "chat:1", fmt.Sprintf(`{"n":%d}`, i))...)
		s.fails(cli.ExitFailed, "FORBIDDEN", append(s.as("bot"), "append", "other", `{}`)...)
	}
	stranger := newSecured(t)
	args := append([]string{"serve", "--data-dir", stranger.file("data"), "--initial-cluster", cluster, "--join",
		"--resp-addr", resp[3], "--http-addr", web[3], "--raft-addr", raft[3]}, stranger.flags("n4")...)
	p := startProcess(t, nil, args...)
	p.until("listening", func() bool { return strings.Contains(p.text(), "msg=turnlog ") })
	s.fails(cli.ExitFailed, "certificate", append(s.as("root"), "cluster", "join", "n4", raft[3])...)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp",
		raft[0]); err == nil {
		// In TLS 1.3 the dialler learns of the refusal when it reads; the node says so.
		nodes[0].until("stranger refused",
			func() bool { return strings.Contains(nodes[0].text(), "didn't provide a certificate") })
	}
}

func TestUserCommand(t *testing.T) {
	c := shell{t, ""}
	file := filepath.Join(t.TempDir(), "users.yaml")
	f := []string{"--file", file}
	if r := c.pipe("pass word\n",
		append([]string{"user", "add", "ann", "--allow-namespace", "0", "--ask"}, f...)...); r.status != 0 ||
		r.stdout != "" {
		t.Errorf("%+v", r)
	}
	password := strings.TrimSpace(c.ok(append([]string{"user", "password", "ann"}, f...)...))
	if len(password) < 40 {
		t.Errorf("password %q", password)
	}
	again := c.ok(append([]string{"user", "password", "ann", "--only"}, f...)...)
	if strings.TrimSpace(again) == password {
		t.Error("the same password twice")
	}
	c.fails(cli.ExitUsage, "already", append([]string{"user", "add", "ann", "--allow-namespace", "0"}, f...)...)
	c.fails(cli.ExitUsage, "--allow-namespace", append([]string{"user", "add", "bob"}, f...)...)
	c.fails(cli.ExitUsage, "--right", append([]string{"user", "add", "bob", "--right", "all"}, f...)...)
	c.fails(cli.ExitUsage, "user name", append([]string{"user", "add", "a b", "--allow-namespace", "0"}, f...)...)
	c.fails(cli.ExitUsage, "no user bob", append([]string{"user", "remove", "bob"}, f...)...)
	c.ok(append([]string{"user", "add", "ops", "--right", "admin"}, f...)...)
	if list := c.ok(append([]string{"user", "list"}, f...)...); !strings.Contains(list,
		"ann   write  0           all") || !strings.Contains(list, "ops   admin  none") {
		t.Errorf("list:\n%s", list)
	}
	c.ok(append([]string{"user", "remove", "ann"}, f...)...)
	if list := c.ok(append([]string{"user", "list", "--json"}, f...)...); strings.Contains(list, `"ann"`) {
		t.Errorf("list: %s", list)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestCertCommand(t *testing.T) {
	c, dir := shell{t, ""}, t.TempDir()
	c.fails(cli.ExitFailed, "turnlog cert ca", "cert", "node", "n1", "--host", "h", "--dir", dir)
	c.ok("cert", "ca", "--dir", dir)
	c.fails(cli.ExitFailed, "--force", "cert", "ca", "--dir", dir)
	c.fails(cli.ExitUsage, "--host", "cert", "node", "n1", "--dir", dir)
	c.fails(cli.ExitUsage, "NAME", "cert", "client", "../x", "--dir", dir)
	c.fails(cli.ExitUsage, "NAME", "cert", "client", "ca", "--dir", dir)
	if got := c.ok("cert", "client", "bot", "--dir", dir, "--days", "5"); !strings.Contains(got, "bot.key") {
		t.Errorf("%s", got)
	}
}

// What would expose the node is refused, with what to set.
func TestServeRefusesToBeOpen(t *testing.T) {
	c := shell{t, ""}
	c.fails(cli.ExitUsage, "set users-file, tls-cert and tls-key", "serve", "--resp-addr", "0.0.0.0:1")
	c.fails(cli.ExitFailed, "turnlog user add", "serve", "--users-file", filepath.Join(t.TempDir(), "none"),
		"--data-dir",
		t.TempDir())
	c.fails(cli.ExitFailed, "certificate", "serve", "--tls-cert", "none", "--tls-key", "none",
		"--data-dir", t.TempDir())
}
