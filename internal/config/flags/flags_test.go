package flags

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/internal/config"
)

// load runs the whole chain: file, environment, command line.
func load(t *testing.T, yaml string, env map[string]string, args ...string) (config.Config, error) {
	t.Helper()
	c := config.Default()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Register(fs, &c)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	file := ""
	if yaml != "" {
		file = filepath.Join(t.TempDir(), "turnlog.yaml")
		if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := Load(fs, file, func(name string) string { return env[name] })
	if err == nil {
		err = c.Validate()
	}
	return c, err
}

func TestPrecedence(t *testing.T) {
	const file = "node-id: file\ndata-dir: file\nlog-level: warn\nmemory-budget: 64MiB\n"
	env := map[string]string{"TURNLOG_NODE_ID": "env", "TURNLOG_DATA_DIR": "env"}
	c, err := load(t, file, env, "--node-id", "flag")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ name, got, want string }{
		{"flag over env and file", c.NodeID, "flag"},
		{"env over file", c.DataDir, "env"},
		{"file over default", c.Logging.Level, "warn"},
		{"size from file", c.MemoryBudget.String(), "64MiB"},
		{"default", c.Listen.RESP, "127.0.0.1:7379"},
	} {
		if want.got != want.want {
			t.Errorf("%s: %q, want %q", want.name, want.got, want.want)
		}
	}
}

func TestClusterAsMapping(t *testing.T) {
	c, err := load(t, "initial-cluster:\n  n2: 127.0.0.1:2\n  n1: 127.0.0.1:7381\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	peers, err := c.Peers()
	if err != nil || len(peers) != 2 || peers[0] != (config.Peer{ID: "n1", Addr: "127.0.0.1:7381"}) ||
		peers[1] != (config.Peer{ID: "n2", Addr: "127.0.0.1:2"}) {
		t.Fatalf("peers %v, error %v", peers, err)
	}
}

func TestIDPaths(t *testing.T) {
	c, err := load(t, "redis-id-path: 0=data.id,id; team=id\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := c.IDPaths()
	if got := fmt.Sprint(paths); err != nil || got != "map[0:[[data id] [id]] team:[[id]]]" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestDialMap(t *testing.T) {
	c, err := load(t, "", map[string]string{"TURNLOG_DIAL_MAP": "127.0.0.1:1=127.0.0.1:2, n2:3=[::1]:4"})
	if err != nil {
		t.Fatal(err)
	}
	dials, err := c.Dials()
	if err != nil || len(dials) != 2 || dials["127.0.0.1:1"] != "127.0.0.1:2" || dials["n2:3"] != "[::1]:4" {
		t.Fatalf("dials %v, error %v", dials, err)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		args       []string
		want       string // part of the error
	}{
		{"unknown key", "node-id: a\nnod-id: b\n", nil, `line 2: unknown setting "nod-id"`},
		{"key twice", "node-id: a\nnode-id: b\n", nil, "node-id"},
		{"not a mapping", "- a\n", nil, "setting: value"},
		{"list as value", "node-id: [a]\n", nil, "single value"},
		{"bad size", "memory-budget: lots\n", nil, "not a size"},
		{"small tail", "log-tail-bytes: 1KiB\n", nil, "64KiB"},
		{"id path without a path", "", []string{"--redis-id-path", "0="}, "redis-id-path"},
		{"id path with an empty name", "", []string{"--redis-id-path", "0=data..id"}, "redis-id-path"},
		{"id path of no namespace", "", []string{"--redis-id-path", "a b=id"}, "redis-id-path"},
		{"dial map without a port", "", []string{"--dial-map", "127.0.0.1:1=elsewhere"}, "dial-map"},
		{"slow snapshots", "snapshot-rate: 64KiB\n", nil, "1MiB or more"},
		{"small budget", "memory-budget: 1MiB\n", nil, "16MiB"},
		{"not loopback", "", []string{"--resp-addr", "0.0.0.0:7379"}, "--insecure"},
		{"not loopback, users only", "", []string{"--resp-addr", "0.0.0.0:7379", "--users-file", "u"},
			"set users-file, tls-cert and tls-key"},
		{"not loopback, TLS only", "", []string{"--http-addr", "0.0.0.0:7379", "--tls-cert", "c", "--tls-key", "k"},
			"set users-file, tls-cert and tls-key"},
		{"node not on loopback", "", []string{"--raft-addr", "10.0.0.1:7381", "--users-file", "u", "--tls-cert", "c",
			"--tls-key", "k"}, "set node-tls-cert, node-tls-key and node-tls-ca"},
		{"certificate without key", "tls-cert: c\n", nil, "tls-key"},
		{"client authority alone", "tls-client-ca: c\n", nil, "needs tls-cert"},
		{"node without authority", "node-tls-cert: c\nnode-tls-key: k\n", nil, "node-tls-ca"},
		{"open metrics without users", "open-metrics: true\n", nil, "users-file"},
		{"cluster with users, nodes without a credential", "",
			[]string{"--users-file", "u", "--initial-cluster", "n1=127.0.0.1:7381,n2=127.0.0.1:2"},
			"cluster-secret-file"},
		{"the same on a protected network", "",
			[]string{"--insecure", "--users-file", "u", "--initial-cluster", "n1=127.0.0.1:7381,n2=127.0.0.1:2"},
			"cluster-secret-file"},
		{"client certificates, nodes without", "",
			[]string{"--tls-cert", "c", "--tls-key", "k", "--tls-client-ca", "ca", "--join"}, "cluster-secret-file"},
		{"joining with users, without a credential", "", []string{"--users-file", "u", "--join"},
			"cluster-secret-file"},
		{"optional secret without one", "", []string{"--cluster-secret-optional"}, "cluster-secret-file"},
		{"names of nodes without certificates", "", []string{"--node-tls-names", "n1=a"}, "node-tls-cert"},
		{"no name of a node", "", []string{"--node-tls-names", "n1="}, "ID=NAME"},
		{"secret is no encryption", "", []string{"--raft-addr", "10.0.0.1:7381", "--cluster-secret-file", "s"},
			"set node-tls-cert"},
		{"every interface", "", []string{"--http-addr", ":7380"}, "--insecure"},
		{"no port", "", []string{"--raft-addr", "127.0.0.1"}, "HOST:PORT"},
		{"bad level", "log-level: loud\n", nil, "log-level"},
		{"bad format", "log-format: xml\n", nil, "log-format"},
		{"node id", "node-id: 'a b'\n", nil, "node-id"},
		{"limits", "max-message-bytes: 32MiB\n", nil, "max-append-bytes"},
		{"more than a node can send to another", "", []string{"--max-read-bytes", "96MiB"},
			"max-read-bytes 96MiB: must be at most 95MiB"},
		{"messages that no node can forward", "", []string{"--max-message-bytes", "96MiB", "--max-append-bytes",
			"96MiB", "--max-read-bytes", "1GiB"}, "max-read-bytes 1GiB: must be at most 95MiB"},
		{"self missing", "", []string{"--initial-cluster", "n2=127.0.0.1:1"}, "does not name this node"},
		{"self elsewhere", "", []string{"--initial-cluster", "n1=127.0.0.1:1"}, "127.0.0.1:7381"},
		{"peer twice", "", []string{"--initial-cluster", "n1=127.0.0.1:7381,n1=127.0.0.1:7381"}, "twice"},
		{"peer malformed", "", []string{"--initial-cluster", "n1"}, "ID=HOST:PORT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.yaml, nil, c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestProtectedListensAnywhere(t *testing.T) {
	const secured = "users-file: u\ntls-cert: c\ntls-key: k\nnode-tls-cert: c\nnode-tls-key: k\nnode-tls-ca: ca\n"
	if _, err := load(t, secured, nil, "--resp-addr", "0.0.0.0:7379", "--http-addr", ":7380", "--raft-addr",
		"10.0.0.1:7381"); err != nil {
		t.Fatal(err)
	}
}

func TestNodeCredentials(t *testing.T) {
	for _, args := range [][]string{
		{"--users-file", "u"}, // alone
		{"--initial-cluster", "n1=127.0.0.1:7381,n2=127.0.0.1:2"},
		{"--users-file", "u", "--initial-cluster", "n1=127.0.0.1:7381,n2=127.0.0.1:2", "--cluster-secret-file", "s",
			"--cluster-secret-optional"},
		{"--users-file", "u", "--join", "--node-tls-cert", "c", "--node-tls-key", "k", "--node-tls-ca", "ca"},
	} {
		if _, err := load(t, "", nil, args...); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	c, err := load(t, "node-tls-cert: c\nnode-tls-key: k\nnode-tls-ca: ca\n", nil, "--node-tls-names",
		"n1=db1.example, any,n1=spiffe://example/n1")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := c.NodeNames(); fmt.Sprint(names) != "map[:[any] n1:[db1.example spiffe://example/n1]]" ||
		err != nil {
		t.Errorf("%v, %v", names, err)
	}
}

func TestInsecureListensAnywhere(t *testing.T) {
	if _, err := load(t, "", nil, "--resp-addr", "0.0.0.0:7379", "--insecure"); err != nil {
		t.Fatal(err)
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]config.Size{"0": 0, "17": 17, "8KiB": 8 << 10, "8 kb": 8 << 10, "3MB": 3 << 20,
		"2GiB": 2 << 30} {
		var s config.Size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%q: %d, %v; want %d", text, s, err, want)
		}
		var again config.Size
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%q: %q does not come back", text, s.String())
		}
	}
	for _, text := range []string{"", "-1", "1.5MiB", "MiB", "9999999999GiB"} {
		var s config.Size
		if err := s.Set(text); err == nil {
			t.Errorf("%q accepted as %d", text, s)
		}
	}
}
