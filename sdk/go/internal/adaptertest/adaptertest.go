// Package adaptertest runs the contract suite for adapters of turnlog to agent frameworks: against a cluster whose
// leader, and whose nodes all at once, are killed, over connections that break.
package adaptertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/proxy"
	"github.com/turnlog/turnlog/turn"
)

// Connect returns a client that retries for a minute.
func Connect(t testing.TB, addrs ...string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{Addrs: addrs, RetryFor: time.Minute})
	Must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// RunContract holds the memories that open makes of clients of a cluster to what any memory of agents is, ids and
// conditions included, while leaders, and all nodes at once, are killed.
func RunContract(t *testing.T, name string, open func(*client.Client) contract.Store) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	cluster := turnlogtest.StartCluster(t)
	at := func(addrs ...string) (contract.Store, error) {
		c, err := client.New(client.Config{Addrs: addrs, RetryFor: 30 * time.Second})
		return open(c), err
	}
	suite := contract.Suite{Target: contract.Target{
		Name:   name,
		Claims: contract.Claims{IDs: true, LateIDs: true, Linearizable: true},
		Open:   func(context.Context) (contract.Store, error) { return at(cluster.Addrs()...) },
		Line: func(context.Context) (contract.Line, error) {
			p, err := proxy.New(proxy.Turnlog{}, cluster.Addrs()...)
			return &line{p, at}, err
		},
		Restarts: []contract.Restart{
			{Kind: contract.CanKillLead, Do: func(ctx context.Context) error { return KillLeader(ctx, cluster) }},
			{Kind: contract.CanKillAll, Do: func(ctx context.Context) error { return killAll(ctx, cluster) }},
		},
	}}
	suite.Run(t)
}

// Outcome marks the errors that say that nothing was stored, and why.
func Outcome(err error) error {
	switch turn.KindOf(err) {
	case turn.Invalid, turn.TooLarge:
		return errors.Join(err, contract.ErrRefused)
	case turn.Conflict, turn.IDReused:
		return errors.Join(err, contract.ErrConflict)
	case turn.Internal, turn.Overloaded, turn.Unavailable, turn.ReadOnly:
		return errors.Join(err, contract.ErrNotApplied)
	}
	return err
}

// line is a way to the cluster that loses requests and answers.
type line struct {
	*proxy.Proxy
	open func(addrs ...string) (contract.Store, error)
}

func (l *line) Open(context.Context) (contract.Store, error) { return l.open(l.Addr()) }

// KillLeader replaces the leader, and lets it come back as a follower.
func KillLeader(ctx context.Context, c *turnlogtest.Cluster) error {
	leader, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	if err := leader.Kill(); err != nil {
		return err
	}
	if _, err := c.Leader(ctx); err != nil {
		return err
	}
	return leader.Restart()
}

func killAll(ctx context.Context, c *turnlogtest.Cluster) error {
	for _, n := range c.Nodes() {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes() {
		if err := n.Restart(); err != nil {
			return err
		}
	}
	_, err := c.Leader(ctx)
	return err
}
