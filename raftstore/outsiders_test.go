package raftstore

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/auth/certs"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// stranger is a node port of a program that says of itself what it likes.
func stranger(t *testing.T, says func() peer.Facts, options ...func(*peer.Config)) *peer.Network {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := peer.Config{Listener: l, Self: says}
	for _, o := range options {
		o(&cfg)
	}
	n := peer.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = n.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return n
}

// A node that is not a member gets no connection that can do something, though it knows the
// cluster's id. A node that is ahead may be a member that this one has not heard of.
func TestOnlyMembersGetIn(t *testing.T) {
	c := newCluster(t, 3)
	n := c.leader()
	c.recordedAll()
	put(t, n, "s", "x")
	claim := func(change func(*peer.Facts)) func() peer.Facts {
		return func() peer.Facts {
			f := peer.Facts{ClusterID: n.data.Identity.Get().ClusterID, NodeID: "n9", Incarnation: "i",
				Wall: time.Now(), Level: n.facts().Level}
			change(&f)
			return f
		}
	}
	// The log is asked each time: its term rises if the leader changes meanwhile.
	log := func(index int64, term int64) func(*peer.Facts) {
		return func(f *peer.Facts) {
			end := n.data.End()
			f.LogIndex, f.LogTerm = uint64(int64(end.Index)+index), uint64(int64(end.Term)+term)
		}
	}
	for name, test := range map[string]struct {
		says func() peer.Facts
		in   bool
	}{
		"a stranger":                  {claim(func(*peer.Facts) {}), false},
		"with the same log":           {claim(log(0, 0)), false},
		"with a longer, older log":    {claim(log(100, -1)), false},
		"with entries not known yet":  {claim(log(1000, 0)), true},
		"that tells of no log, ahead": {claim(func(f *peer.Facts) { f.Progress = 1 << 40 }), false},
	} {
		s, err := stranger(t, test.says).Streams().Dial(n.cfg.Peers.Advertise, 5*time.Second)
		var r *peer.Refusal
		if test.in != (err == nil) || err != nil && (!errors.As(err, &r) || r.Code != peer.RefusedMember) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			s.Close()
		}
		refused := signal.New()
		requests := stranger(t, test.says, func(cfg *peer.Config) {
			cfg.Refused = func(_ peer.Meeting, r *peer.Refusal) {
				want := peer.RefusedMember
				if test.in {
					want = peer.RefusedOther // it may be a member, and is to try again
				}
				if r.Code == want {
					refused.Notify()
				}
			}
		})
		requests.SetPeers(map[string]string{n.id: n.cfg.Peers.Advertise})
		<-refused
	}
}

// The connections of a node that is removed end, also if it does not stop by itself, and
// new ones are refused. One that did not run then learns of it when it is started.
func TestRemovedNodeIsCutOff(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	put(t, c.leader(), "s", "x")
	f := c.follower()
	c.kill(f.id)
	n := c.leader()
	// In its place, something that has its identity and goes on.
	ident := f.data.Identity.Get()
	ghost := stranger(t, func() peer.Facts {
		return peer.Facts{ClusterID: ident.ClusterID, NodeID: ident.NodeID, Incarnation: ident.Incarnation,
			Wall: time.Now(), Level: n.facts().Level}
	})
	ghost.SetPeers(map[string]string{n.id: n.cfg.Peers.Advertise})
	eventuallyTrue(t, "it is connected", func() bool { return ghost.Connected(n.id) })
	stream, err := ghost.Streams().Dial(n.cfg.Peers.Advertise, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := n.members.RemoveNode(ctx, f.id); err != nil {
		t.Fatal(err)
	}
	stream.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := stream.Read(make([]byte, 1)); errors.Is(err, context.DeadlineExceeded) || err == nil ||
		strings.Contains(err.Error(), "timeout") {
		t.Errorf("its stream goes on: %v", err)
	}
	eventuallyTrue(t, "it is cut off", func() bool { return !ghost.Connected(n.id) })
	var r *peer.Refusal
	if _, err := ghost.Streams().Dial(n.cfg.Peers.Advertise, 5*time.Second); !errors.As(err, &r) ||
		r.Code != peer.RefusedMember {
		t.Errorf("it comes again: %v", err)
	}
	if err := c.ended(c.start(f.id)); !errors.Is(err, ErrRemoved) {
		t.Errorf("the removed node ends with: %v", err)
	}
}

func TestSecretOfACluster(t *testing.T) {
	knows := func(cfg *Config) { cfg.Peers.Secret = &peer.Secret{Keys: [][]byte{make([]byte, peer.MinKey)}} }
	c := newCluster(t, 3, knows)
	for _, id := range ids(3) {
		put(t, c.nodes[id], "s", id)
	}
	c.recordedAll()
	n := c.leader()
	member := func() peer.Facts {
		f := c.follower().facts()
		return f
	}
	var r *peer.Refusal
	for _, addr := range c.addrs {
		if facts, err := stranger(t, member).Probe(t.Context(), addr); !errors.As(err, &r) ||
			r.Code != peer.RefusedCredential || facts != (peer.Facts{}) {
			t.Errorf("%+v, %v", facts, err)
		}
	}
	put(t, n, "s", "x")
}

func TestClosedNode(t *testing.T) {
	c := newCluster(t, 1, func(cfg *Config) { cfg.Peers.Closed = "it is closed" })
	n := c.leader()
	put(t, n, "s", "x")
	if err := n.members.AddNode(t.Context(), "n2", "127.0.0.1:1"); turn.KindOf(err) != turn.Invalid ||
		!strings.Contains(err.Error(), "it is closed") {
		t.Errorf("a node is added: %v", err)
	}
}

func TestMemberOfMoreIsNotClosed(t *testing.T) {
	three := newCluster(t, 3)
	three.recordedAll()
	f := three.follower()
	eventuallyTrue(t, "members are kept", func() bool { return len(f.data.State.Members()) == 3 })
	three.stop(f.id)
	if _, err := Open(three.config(f.id, func(cfg *Config) { cfg.Peers.Closed = "it is closed" })); err == nil ||
		!strings.Contains(err.Error(), "one of 3, and it is closed") {
		t.Errorf("a member of three opens: %v", err)
	}
	three.start(f.id)
}

// certified gives each node a certificate with its id.
func certified(t *testing.T, more ...string) func(*Config) {
	t.Helper()
	dir := t.TempDir()
	issue := func(name string, kind certs.Kind) {
		r := certs.Request{Dir: dir, Name: name, Kind: kind, Hosts: []string{"127.0.0.1"}, CA: "ca", From: time.Now(),
			For: time.Hour}
		if err := certs.Issue(r); err != nil {
			t.Fatal(err)
		}
	}
	issue("ca", certs.Authority)
	for _, id := range append(ids(3), more...) {
		issue(id, certs.Node)
	}
	return func(cfg *Config) {
		base := filepath.Join(dir, cfg.NodeID)
		s, err := certs.Open(certs.Config{Files: certs.Files{Cert: base + ".crt", Key: base + ".key",
			CA: filepath.Join(dir, "ca.crt")}, Logger: testLogger()})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Peers.TLS = &peer.TLS{Client: s.Client, Server: s.ServerForEqual(), Verify: certs.NodeNames(nil).Verify}
	}
}

// A node that was away while another was added, and has become the leader, takes the
// entries that tell of it from that leader: the members that it knows report it.
func TestLeaderThatWasAddedMeanwhile(t *testing.T) {
	c := newCluster(t, 3, certified(t, "n4"))
	c.recordedAll()
	away := c.follower()
	c.kill(away.id)
	c.addrs["n4"] = freeAddr(t)
	c.start("n4", func(cfg *Config) { cfg.Join = true })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.leader().members.AddNode(ctx, "n4", c.addrs["n4"]); err != nil {
		t.Fatal(err)
	}
	eventuallyTrue(t, "n4 leads", func() bool {
		l := c.leader()
		if l.id != "n4" {
			_ = transfer{l.Node}.callElection("n4", c.addrs["n4"])
		}
		return l.id == "n4"
	})
	delete(c.addrs, "n4") // in its own initial cluster there is none
	back := c.start(away.id)
	c.addrs["n4"] = c.nodes["n4"].cfg.Peers.Advertise
	eventuallyTrue(t, "it knows the new leader", func() bool { return back.data.Recorded("n4") != "" })
	c.sameState()
}
