package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/auth/certs"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/turn"
)

// These attack the port at which nodes talk to each other: what is done there is done
// for any user.

// intruder is a program that speaks the nodes' protocol and says what it likes.
type intruder struct {
	*peer.Network
	t            *testing.T
	target, addr string // node id and address
}

func intrude(t *testing.T, target, addr string, says peer.Facts, options ...func(*peer.Config)) *intruder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := peer.Config{Listener: l, Self: func() peer.Facts { f := says; f.Wall = time.Now(); return f }}
	for _, o := range options {
		o(&cfg)
	}
	i := &intruder{peer.New(cfg), t, target, addr}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = i.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	i.SetPeers(map[string]string{target: addr})
	return i
}

// ask sends a request once it is connected, or says why it is not.
func (i *intruder) ask(kind peer.Kind, payload []byte) ([]byte, error) {
	i.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		answer, err := i.Call(i.t.Context(), i.target, kind, payload)
		if !errors.Is(err, peer.ErrNotSent) || !strings.HasSuffix(err.Error(), " yet") {
			return answer, err
		}
	}
	i.t.Fatal("neither connected nor refused")
	return nil, nil
}

// read asks for a session as a node asks the leader.
func (i *intruder) read(key string) (string, error) {
	q, err := codec.EncodeQuery(&turn.Read{Key: turn.Key{Namespace: "0", Name: key}})
	if err != nil {
		i.t.Fatal(err)
	}
	answer, err := i.ask(1, q)
	return string(answer), err
}

// raise has a node believe in a term that no leader of its cluster has.
func (i *intruder) raise() error {
	trans := raft.NewNetworkTransport(raftStreams{i.Streams()}, 1, 5*time.Second, nil)
	defer trans.Close()
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("n2"), Addr: []byte("127.0.0.1:1")}
	const term = 1 << 40
	vote := trans.RequestVote(raft.ServerID(i.target), raft.ServerAddress(i.addr),
		&raft.RequestVoteRequest{RPCHeader: header, Term: term, LastLogIndex: term, LastLogTerm: term,
			LeadershipTransfer: true}, &raft.RequestVoteResponse{})
	entries := trans.AppendEntries(raft.ServerID(i.target), raft.ServerAddress(i.addr),
		&raft.AppendEntriesRequest{RPCHeader: header, Term: term + 1}, &raft.AppendEntriesResponse{})
	if vote == nil || entries == nil {
		return nil
	}
	return vote
}

type raftStreams struct{ *peer.Streams }

func (s raftStreams) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.Streams.Dial(string(addr), timeout)
}

// getsNothing sees every attempt refused before the node has done anything.
func (i *intruder) getsNothing(what string) {
	i.t.Helper()
	if text, err := i.read("alice"); !errors.Is(err, peer.ErrNotSent) {
		i.t.Errorf("%s: a session is read: %q, %v", what, text, err)
	}
	member, _ := json.Marshal(map[string]string{"id": "n9", "addr": i.Advertise()})
	for kind, payload := range map[peer.Kind][]byte{0x81: poison(), 0x82: {0}, 0x83: {0}, 2: nil, 3: nil, 4: member,
		5: []byte("{}")} {
		if answer, err := i.ask(kind, payload); !errors.Is(err, peer.ErrNotSent) {
			i.t.Errorf("%s: request %#x is answered: %q, %v", what, kind, answer, err)
		}
	}
	if err := i.raise(); err == nil {
		i.t.Errorf("%s: a term is raised", what)
	}
}

// poison returns a batch of one operation that no node can decode: a leader that writes it
// to the log stops, and so does the next one.
func poison() []byte {
	header := [24]byte{0: 7, 8: 1} // origin, session, place in the session
	return codec.AppendEntry(header[:], 0, []codec.Command{{Origin: 7, Number: 1, Op: []byte{0xff}}})
}

// factsOf returns what a node says of itself, from its directory: more than a stranger
// can know.
func factsOf(t *testing.T, dir string) peer.Facts {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "identity.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		ClusterID   string `json:"cluster_id"`
		NodeID      string `json:"node_id"`
		Incarnation string `json:"incarnation"`
	}
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	return peer.Facts{ClusterID: f.ClusterID, NodeID: f.NodeID, Incarnation: f.Incarnation,
		Level: uint64(turn.NewestLevel), LogIndex: 1 << 50, LogTerm: 1 << 50, Progress: 1 << 50}
}

// Without users there is nothing to pass by: what the attacks of these tests can do.
func TestNodePortOfATrial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := startNode(t, dir)
	n.ok("append", "alice", "a secret")
	says := factsOf(t, dir)
	says.LogIndex, says.LogTerm = 0, 0 // not as if it were a newer copy of the node's data, which stops it
	i := intrude(t, "n1", n.raft(), says)
	if text, err := i.read("alice"); !strings.Contains(text, "a secret") {
		t.Errorf("read %q, %v", text, err)
	}
	if err := i.raise(); err != nil {
		t.Errorf("raise the term: %v", err)
	}
}

// raft returns the address of a node's node port.
func (n *node) raft() string {
	for i, a := range n.args {
		if a == "--raft-addr" {
			return n.args[i+1]
		}
	}
	return ""
}

// A node with users that is alone has nothing to do with others, who learn nothing of it.
func TestNodePortOfANodeAlone(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	n := startNode(t, s.file("data"), "--users-file", s.file("users.yaml"))
	s.addr = n.addr
	as := s.as("root")[2:]
	s.ok(append(as, "append", "alice", "a secret")...)
	i := intrude(t, "n1", n.raft(), factsOf(t, s.file("data")))
	i.getsNothing("a stranger")
	if facts, err := i.Probe(t.Context(), n.raft()); err == nil || facts != (peer.Facts{}) {
		t.Errorf("it is told %+v, %v", facts, err)
	}
	s.fails(cli.ExitUsage, "--cluster-secret-file", append(as, "cluster", "join", "n2", "127.0.0.1:1")...)
	if got := s.ok(append(as, "read", "alice", "--raw")...); got != "a secret\n" {
		t.Errorf("read %q", got)
	}
}

// members starts three nodes with what flags returns for each.
func (s *secured) members(flags func(id string) []string) (nodes []*node) {
	s.t.Helper()
	resp, web, raft := freePorts(s.t, 3), freePorts(s.t, 3), freePorts(s.t, 3)
	for i := range 3 {
		id := fmt.Sprint("n", i+1)
		n := &node{http: web[i], shell: shell{s.t, resp[i]}}
		n.args = append([]string{"serve", "--node-id", id, "--data-dir", s.file("data-" + id),
			"--resp-addr", resp[i], "--http-addr", web[i], "--raft-addr", raft[i],
			"--initial-cluster", fmt.Sprintf("n1=%s,n2=%s,n3=%s", raft[0], raft[1], raft[2])}, flags(id)...)
		n.process = startProcess(s.t, nil, n.args...)
		nodes = append(nodes, n)
	}
	s.addr = resp[0]
	for _, n := range nodes {
		n.until("ready", func() bool { return isReady(n.http) })
	}
	return nodes
}

func (s *secured) clusterSecret(name string) string {
	if err := cli.MakeClusterSecret(s.file(name)); err != nil {
		s.t.Fatal(err)
	}
	return s.file(name)
}

// leaderAndTerm tells whether there was an election.
func (s *secured) leaderAndTerm(as []string) string {
	return s.field("leader", append(as, "cluster", "status")...) + " in term " +
		s.field("term", append(as, "cluster", "status")...)
}

// In a cluster with users and a secret, a program on the same machine that knows all
// about a member but the secret is not taken for it.
func TestNodePortWithASecret(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	secret := s.clusterSecret("cluster-secret")
	nodes := s.members(func(string) []string {
		return []string{"--users-file", s.file("users.yaml"), "--cluster-secret-file", secret}
	})
	as := s.as("root")[2:]
	s.ok(append(as, "append", "alice", "a secret")...)
	before := s.leaderAndTerm(as)
	other, err := readClusterSecretFile(s.clusterSecret("other"))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		id, claimed := fmt.Sprint("n", i+1), fmt.Sprint("n", (i+1)%3+1)
		facts := factsOf(t, s.file("data-"+claimed))
		intrude(t, id, n.raft(), facts).getsNothing("a stranger at " + id)
		intrude(t, id, n.raft(), facts,
			func(c *peer.Config) { c.Secret = other }).getsNothing("one with another secret at " + id)
	}
	if after := s.leaderAndTerm(as); after != before {
		t.Errorf("%s leads, not %s", after, before)
	}
	if got := s.ok(append(as, "read", "alice", "--raw")...); got != "a secret\n" {
		t.Errorf("read %q", got)
	}
	for _, n := range nodes {
		if lines := strings.Count(n.text(), "node connection rejected"); lines == 0 || lines > 30 {
			t.Errorf("%d lines tell of the attempts", lines)
		}
	}
}

func readClusterSecretFile(file string) (*peer.Secret, error) {
	text, err := os.ReadFile(file)
	return &peer.Secret{Keys: [][]byte{bytes.TrimSpace(text)}}, err
}

// The authority of the nodes signs other certificates, too. None of them makes its owner
// a node, nor that of one node another one.
func TestNodePortWithCertificates(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	nodes := s.members(func(id string) []string {
		return []string{"--users-file", s.file("users.yaml"), "--node-tls-cert", s.file(id + ".crt"), "--node-tls-key",
			s.file(id + ".key"), "--node-tls-ca", s.file("ca.crt")}
	})
	as := s.as("root")[2:]
	s.ok(append(as, "append", "alice", "a secret")...)
	s.ok("cert", "node", "web", "--dir", s.dir, "--host", "127.0.0.1")
	s.ok("cert", "client", "n2x", "--dir", s.dir)
	before := s.leaderAndTerm(as)
	shows := func(name string) func(*peer.Config) {
		store, err := certs.Open(certs.Config{Files: certs.Files{Cert: s.file(name + ".crt"),
			Key: s.file(name + ".key"), CA: s.file("ca.crt")}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return func(c *peer.Config) {
			c.TLS = &peer.TLS{Client: store.Client, Server: store.Server(), Verify: certs.NodeNames{}.Verify}
		}
	}
	n2 := factsOf(t, s.file("data-n2"))
	n4 := n2
	n4.NodeID, n4.LogIndex, n4.LogTerm = "n4", 0, 0
	intrude(t, "n1", nodes[0].raft(), n2).getsNothing("one without TLS")
	intrude(t, "n1", nodes[0].raft(), n2, shows("web")).getsNothing("a web server")
	intrude(t, "n1", nodes[0].raft(), n2, shows("n2x")).getsNothing("a client")
	intrude(t, "n1", nodes[0].raft(), n2, shows("n3")).getsNothing("another node")
	intrude(t, "n1", nodes[0].raft(), n4, shows("n4")).getsNothing("a node that was not announced")
	if text, err := intrude(t, "n1", nodes[0].raft(), n2, shows("n2")).read("alice"); errors.Is(err, peer.ErrNotSent) {
		t.Errorf("what has the key of n2 is not n2: %q, %v", text, err)
	}
	if after := s.leaderAndTerm(as); after != before {
		t.Errorf("%s leads, not %s", after, before)
	}
}

// A cluster with users and without a credential between its nodes does not start; with a
// secret it goes on node by node, and no client notices.
func TestSecretIsIntroduced(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	users := []string{"--users-file", s.file("users.yaml")}
	s.fails(cli.ExitUsage, "cluster-secret-file",
		append([]string{"serve", "--join", "--data-dir", s.file("x")}, users...)...)
	secret := s.clusterSecret("cluster-secret")
	with := func(file string, optional bool) []string {
		flags := append(users[:2:2], "--cluster-secret-file", file)
		if optional {
			flags = append(flags, "--cluster-secret-optional")
		}
		return flags
	}
	nodes := s.members(func(string) []string { return nil })
	as := s.as("root")[2:]
	plain := len(nodes[0].args)
	step := func(what string, flags []string) {
		for i, n := range nodes {
			if status := n.stop(syscall.SIGTERM); status != 0 {
				t.Fatalf("%s: n%d ends with %d", what, i+1, status)
			}
			n.args = append(n.args[:plain:plain], flags...)
			n.start(t)
			for _, via := range nodes {
				s.addr = via.addr
				login := as
				if !slices.Contains(via.args, "--users-file") {
					login = nil
				}
				s.ok(append(login, "append", "alice", what)...)
			}
		}
	}
	step("offered", with(secret, true))
	step("demanded", with(secret, false))
	next := s.clusterSecret("next")
	text := func(file string) string {
		b, err := os.ReadFile(s.file(file))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	both := func(name, first, second string) string {
		if err := os.WriteFile(s.file(name), []byte(text(first)+text(second)), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.file(name)
	}
	step("next accepted", with(both("one", "cluster-secret", "next"), false))
	step("next used", with(both("two", "next", "cluster-secret"), false))
	step("next alone", with(next, false))
	if err := os.Chmod(next, 0o640); err != nil {
		t.Fatal(err)
	}
	s.fails(cli.ExitFailed, "chmod 600", append([]string{"serve", "--data-dir", s.file("y")}, with(next, false)...)...)
	if err := os.WriteFile(s.file("short"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.fails(cli.ExitFailed, "less than 32",
		append([]string{"serve", "--data-dir", s.file("y")}, with(s.file("short"), false)...)...)
}

// Connections that do not begin their TLS handshake are not waited for, at any port.
func TestSilentHandshakesEnd(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	ports := freePorts(t, 3)
	flags := append([]string{"serve", "--resp-addr", ports[0], "--http-addr", ports[1], "--raft-addr", ports[2],
		"--data-dir", s.file("data"),
		"--tls-client-ca", s.file("ca.crt")}, s.flags("n1")...)
	p := startProcess(t, nil,
		slices.DeleteFunc(flags, func(f string) bool { return f == "--users-file" || f == s.file("users.yaml") })...)
	p.until("listening", func() bool { return strings.Contains(p.text(), "msg=turnlog ") })
	for name, addr := range map[string]string{"Redis": ports[0], "HTTP": ports[1], "nodes": ports[2]} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(45 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: a TLS handshake has no deadline: %v", name, err)
		}
	}
}
