package turnlogtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/turn"
)

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func connect(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func leader(t *testing.T, c *turnlogtest.Cluster) *turnlogtest.Node {
	t.Helper()
	n, err := c.Leader(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// must fails the test if a fault could not be made.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func say(text string) turn.NewMessage { return turn.NewMessage{ID: text, Data: []byte(text)} }

// texts are all messages of a session.
func texts(t *testing.T, s client.Session) (list []string) {
	t.Helper()
	for m, err := range s.All(within(t), 0) {
		must(t, err)
		list = append(list, string(m.Data))
	}
	return list
}

// TestKill: what was acknowledged before leaders were killed, and at last all nodes at once, is read
// afterwards, once and in its order. The client fails over by itself.
func TestKill(t *testing.T) {
	t.Parallel()
	cluster := turnlogtest.StartCluster(t)
	session := connect(t, client.Config{Addrs: cluster.Addrs(), RetryFor: time.Minute}).Session("alice")
	var acknowledged []string
	add := func() {
		text := fmt.Sprint("message ", len(acknowledged)+1)
		_, err := session.Append(within(t), say(text))
		must(t, err)
		acknowledged = append(acknowledged, text)
	}
	for range 2 {
		add()
		killed := leader(t, cluster)
		must(t, killed.Kill())
		add() // by the two others
		if next := leader(t, cluster); next == killed {
			t.Errorf("%s leads although it was killed", next.ID())
		}
		must(t, killed.Restart())
		add()
	}
	for _, n := range cluster.Nodes() {
		must(t, n.Kill())
	}
	for _, n := range cluster.Nodes() {
		must(t, n.Restart())
	}
	if got := texts(t, session); !slices.Equal(got, acknowledged) {
		t.Errorf("read %q, acknowledged were %q", got, acknowledged)
	}
}

// TestPartition: what a leader cannot commit is not acknowledged; the error says what is so, and the
// same message sent again is stored once.
func TestPartition(t *testing.T) {
	t.Parallel()
	cluster := turnlogtest.StartCluster(t)
	everywhere := connect(t, client.Config{Addrs: cluster.Addrs(), RetryFor: time.Minute}).Session("alice")
	_, err := everywhere.Append(within(t), say("before"))
	must(t, err)
	lonely := leader(t, cluster)
	there := connect(t, client.Config{Addrs: []string{lonely.Addr()}, RetryFor: -1}).Session("alice")
	must(t, ignore(there.Info(within(t)))) // it is connected

	lonely.Partition()
	_, err = there.Append(within(t), say("during"))
	var failure *turn.Error
	if !errors.As(err, &failure) || failure.Kind != turn.Unknown && failure.Kind != turn.Unavailable {
		t.Fatalf("a leader without the others answered %v", err)
	}
	if next := leader(t, cluster); next == lonely {
		t.Fatalf("%s leads without the others", next.ID())
	}
	must(t, ignore(everywhere.Append(within(t), say("other side"))))
	lonely.Heal()
	stored := slices.Contains(texts(t, there), "during")
	if stored && failure.Outcome() == "not_applied" {
		t.Errorf("it is stored, in spite of %v", failure)
	}
	r, err := everywhere.Append(within(t), say("during"))
	if err != nil || r.Duplicate != stored {
		t.Errorf("sent again: %+v, %v; stored before: %t", r, err, stored)
	}
	got := texts(t, there)
	slices.Sort(got)
	if want := []string{"before", "during", "other side"}; !slices.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
}

func ignore[T any](_ T, err error) error { return err }

// TestPause: a follower that was paused has what it missed once it goes on; a leader that was paused
// has been replaced.
func TestPause(t *testing.T) {
	t.Parallel()
	cluster := turnlogtest.StartCluster(t)
	first := leader(t, cluster)
	follower := cluster.Nodes()[0]
	if follower == first {
		follower = cluster.Nodes()[1]
	}
	must(t, follower.Pause())
	session := connect(t, client.Config{Addrs: []string{first.Addr()}}).Session("alice")
	const missed = 100
	for i := range missed {
		must(t, ignore(session.Append(within(t), say(fmt.Sprint(i)))))
	}
	must(t, follower.Resume())
	of := func(n *turnlogtest.Node) client.Session {
		return connect(t, client.Config{Addrs: []string{n.Addr()}, RetryFor: time.Minute}).Session("alice")
	}
	if got := texts(t, of(follower)); len(got) != missed {
		t.Errorf("%s has %d messages, want %d", follower.ID(), len(got), missed)
	}

	must(t, first.Pause())
	second := leader(t, cluster)
	if second == first {
		t.Errorf("%s leads although it is paused", first.ID())
	}
	must(t, ignore(of(second).Append(within(t), say("of the second"))))
	must(t, first.Resume())
	if got := texts(t, of(first)); len(got) != missed+1 {
		t.Errorf("%s has %d messages, want %d", first.ID(), len(got), missed+1)
	}
}

// TestImpossible: what cannot be done is said, and changes nothing.
func TestImpossible(t *testing.T) {
	t.Parallel()
	cluster, err := turnlogtest.NewCluster(t.TempDir())
	must(t, err)
	n := cluster.Nodes()[0]
	impossible := func(err error, why string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v, want %q", err, why)
		}
	}
	impossible(n.Restart(), "restart n1: it runs")
	must(t, n.Resume())
	must(t, n.Pause())
	must(t, n.Kill())
	impossible(n.Kill(), "kill n1: it does not run")
	impossible(n.Pause(), "pause n1: it does not run")
	impossible(n.Resume(), "resume n1: it does not run")
	must(t, n.Restart())
	for _, n := range cluster.Nodes() {
		n.Partition()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = cluster.Leader(ctx)
	impossible(err, "n1 is partitioned; n2 is partitioned; n3 is partitioned")
	must(t, cluster.Close())
	must(t, cluster.Close())
	impossible(n.Restart(), "the cluster is closed")
	if _, err := turnlogtest.NewCluster("/dev/null/x"); err == nil {
		t.Error("a cluster without a directory")
	}
}
