package turnlog_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/turnlog/turnlog"
	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/ports"
	"github.com/turnlog/turnlog/turn"
)

// addrs returns addresses of loopback that are this test's.
func addrs(t *testing.T, n int) []string {
	t.Helper()
	var reserved ports.Reserved
	list, err := reserved.Addrs(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reserved.Release() })
	return list
}

func openCluster(t *testing.T, cfg turnlog.Config) *turnlog.DB {
	t.Helper()
	db, err := turnlog.OpenCluster(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A node that was alone, and had no port, becomes the first of a cluster of three: all that it had is
// on the others, which go on when it is gone.
func TestALoneNodeBecomesACluster(t *testing.T) {
	ctx := within(t)
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	alone := open(t, dirs[0])
	add(t, alone, "alice", "alone")
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	at := addrs(t, 3)
	var dbs []*turnlog.DB
	for i, dir := range dirs {
		dbs = append(dbs, openCluster(t, turnlog.Config{Dir: dir, NodeID: fmt.Sprint("n", i+1),
			Peers: turnlog.Peers{Addr: at[i], Join: i > 0}}))
	}
	for i, db := range dbs[1:] {
		if err := dbs[0].AddNode(ctx, fmt.Sprint("n", i+2), at[i+1]); err != nil {
			t.Fatal(err)
		}
		if err := db.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
	}
	c, err := dbs[2].Cluster(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range c.Nodes {
		if n.RaftAddr != at[i] {
			t.Errorf("%s is at %s, want %s", n.ID, n.RaftAddr, at[i])
		}
	}
	if err := dbs[0].Close(); err != nil {
		t.Error(err)
	}
	add(t, dbs[1], "alice", "together")
	for _, db := range dbs[1:] {
		if got := texts(t, db, "alice"); !slices.Equal(got, []string{"alone", "together"}) {
			t.Errorf("read %q", got)
		}
	}
	if db, err := turnlog.Open(dirs[0]); err == nil {
		db.Close()
		t.Error("a member of a cluster was opened as a node that is alone")
	}
}

// A node in a program is a learner until it is promoted, and again once it is demoted; it has all data throughout.
func TestLearnersInPrograms(t *testing.T) {
	ctx := within(t)
	at := addrs(t, 2)
	first := openCluster(t, turnlog.Config{Dir: t.TempDir(), NodeID: "n1", Peers: turnlog.Peers{Addr: at[0]}})
	second := openCluster(t, turnlog.Config{Dir: t.TempDir(), NodeID: "n2",
		Peers: turnlog.Peers{Addr: at[1], Join: true}})
	add(t, first, "alice", "hi")
	votes := func(want bool) {
		t.Helper()
		c, err := first.Cluster(ctx) // the leader, whose view does not lag
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(c.Nodes, func(n turn.Node) bool { return n.ID == "n2" })
		if i < 0 || c.Nodes[i].Voter != want {
			t.Errorf("n2 votes: want %v of %+v", want, c.Nodes)
		}
	}
	if err := first.AddLearner(ctx, "n2", at[1]); err != nil {
		t.Fatal(err)
	}
	votes(false)
	if got := texts(t, second, "alice"); !slices.Equal(got, []string{"hi"}) {
		t.Errorf("the learner has %q", got)
	}
	if err := second.Promote(ctx, "n2"); err != nil {
		t.Fatal(err)
	}
	votes(true)
	if err := first.Promote(ctx, "n2"); !turn.Is(err, turn.Exists) {
		t.Errorf("promoted twice: %v", err)
	}
	if err := first.Demote(ctx, "n2"); err != nil {
		t.Fatal(err)
	}
	votes(false)
	if err := first.Demote(ctx, "n9"); !turn.Is(err, turn.NotFound) {
		t.Errorf("a node that is not a member was demoted: %v", err)
	}
}

// With users, clients over the network have to authenticate, and the program itself does not.
func TestUsersAreForTheNetwork(t *testing.T) {
	db := openCluster(t, turnlog.Config{Dir: t.TempDir(),
		Servers: turnlog.Servers{RESPAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", UsersFile: usersFile(t)}})
	add(t, db, "alice", "hi")
	c, err := client.New(client.Config{Addrs: []string{db.RESPAddr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Session("alice").Info(t.Context()); !turn.Is(err, turn.Unauthorized) {
		t.Errorf("a client without a user: %v", err)
	}
}

// usersFile has one user.
func usersFile(t *testing.T) string {
	t.Helper()
	hash, err := auth.HashPassword(auth.NewPassword(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("version: 1\nusers:\n  - name: ann\n    passwords: ['%s']\n    right: write\n"+
		"    namespaces: ['0']\n", hash)
	name := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
