package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/faultproxy"
	"github.com/turnlog/turnlog/internal/testcluster"
)

const (
	nodes       = 3
	killEvery   = 4 * time.Second
	down        = 800 * time.Millisecond // from a kill until the node is started again
	startLimit  = 60 * time.Second
	healLimit   = 60 * time.Second
	settleLimit = 20 * time.Second // for a leader to be there
)

// mode is which nodes are killed, and how the libraries reach the cluster.
type mode struct {
	name, title, about string
	own                bool // the libraries' node is killed too
}

func modes() []mode {
	return []mode{
		{name: "kept", title: "The node that the libraries talk to is never killed",
			about: "libraries talk to one node, at first a follower; the leader is killed if it is another"},
		{name: "killed", title: "Their own node is killed too", own: true,
			about: "libraries talk to an address behind which a living node answers; that node and the leader are " +
				"killed by turns"},
	}
}

// faultRun is one run of drivers against a cluster.
type faultRun struct {
	mode   mode
	binary string
	dir    string
	time   time.Duration

	cluster               *cluster.Cluster
	home                  *cluster.Node     // which the libraries talk to, if it is never killed
	service               *faultproxy.Proxy // otherwise: one address for the cluster, as orchestrators offer it
	httpService           *faultproxy.Proxy // the same for HTTP; both go on to the next node when one dies
	drivers               []*driver
	leaderKills, ownKills int
}

// run returns what became of each library. An error means that there is no result.
func (s *faultRun) run(ctx context.Context, libraries []library, p places) (results []result, err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	flags := []string{"--redis-id-path", fmt.Sprintf("%d=%s", idsDatabase, idPaths)}
	if s.cluster, err = cluster.New(cluster.Config{Binary: s.binary, Dir: s.dir, Nodes: nodes,
		Flags: flags}); err != nil {
		return nil, err
	}
	defer s.cluster.Close()
	at, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if s.service != nil {
		defer s.service.Close()
		defer s.httpService.Close()
	}
	ctx, cancel := context.WithCancel(ctx) // drivers end with it
	defer cancel()
	for _, l := range libraries {
		d, err := startDriver(ctx, l, p, at, s.dir)
		if err != nil {
			return nil, err
		}
		s.drivers = append(s.drivers, d)
	}
	if err := s.inject(ctx); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	if err := together(s.drivers, (*driver).close); err != nil {
		return nil, err
	}
	for _, d := range s.drivers {
		results = append(results, newResult(d, s.mode))
	}
	return results, nil
}

// open starts the cluster and returns the addresses for the libraries.
func (s *faultRun) open(ctx context.Context) (addresses, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := s.cluster.Start(ctx); err != nil {
		return addresses{}, err
	}
	if s.mode.own {
		return s.serve()
	}
	leader, err := s.cluster.WaitLeader(ctx, nil)
	if err != nil {
		return addresses{}, err
	}
	s.home = s.other(leader)
	return addressesOf(s.home), nil
}

func addressesOf(n *cluster.Node) addresses { return addresses{resp: n.RESPAddr, http: n.HTTPAddr} }

// serve returns addresses behind which a living node answers.
func (s *faultRun) serve() (addresses, error) {
	var resp, http faultproxy.Config
	for _, n := range s.cluster.Nodes {
		resp.Targets, http.Targets = append(resp.Targets, n.RESPAddr), append(http.Targets, n.HTTPAddr)
	}
	var err error
	if s.service, err = faultproxy.New(resp); err != nil {
		return addresses{}, err
	}
	if s.httpService, err = faultproxy.New(http); err != nil {
		s.service.Close()
		return addresses{}, err
	}
	return addresses{resp: s.service.Addr(), http: s.httpService.Addr()}, nil
}

// other returns a node that is not n.
func (s *faultRun) other(n *cluster.Node) *cluster.Node {
	if s.cluster.Nodes[0] != n {
		return s.cluster.Nodes[0]
	}
	return s.cluster.Nodes[1]
}

// inject lets the drivers write while nodes are killed.
func (s *faultRun) inject(ctx context.Context) error {
	for _, d := range s.drivers {
		d.start()
	}
	over := time.NewTimer(s.time)
	defer over.Stop()
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over.C:
			return nil
		case <-tick.C:
		}
		target, err := s.target(ctx, turn)
		if err != nil {
			return err
		}
		if err := s.kill(ctx, target); err != nil {
			return err
		}
	}
}

// target is the next node to kill.
func (s *faultRun) target(ctx context.Context, turn int) (*cluster.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	if s.mode.own && turn%2 == 0 {
		s.ownKills++
		return s.served(), nil
	}
	leader, err := s.cluster.WaitLeader(ctx, nil)
	if err == nil && leader == s.home {
		// It may lead for a while, and must give that up to live.
		if err = leader.Transfer(ctx); err == nil {
			leader, err = s.cluster.WaitLeader(ctx, s.home)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find the leader to kill: %w", err)
	}
	s.leaderKills++
	return leader, nil
}

// served is the node that gets the libraries' next connections.
func (s *faultRun) served() *cluster.Node {
	at := slices.IndexFunc(s.cluster.Nodes, func(n *cluster.Node) bool { return n.RESPAddr == s.service.Target() })
	return s.cluster.Nodes[at]
}

// kill kills a node and has it back and serving when it returns.
func (s *faultRun) kill(ctx context.Context, n *cluster.Node) error {
	if err := n.Kill(); err != nil {
		return err
	}
	select {
	case <-time.After(down):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := n.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	return testcluster.Until(ctx, n.ID+" is back", func() bool { return n.Ready(ctx) })
}

// settle lets the drivers finish, has them read everything through another node, and
// sees that the nodes hold the same.
func (s *faultRun) settle(ctx context.Context) error {
	if err := together(s.drivers, func(d *driver) error { return d.stop(ctx) }); err != nil {
		return err
	}
	heal, cancel := context.WithTimeout(ctx, healLimit)
	defer cancel()
	if err := s.cluster.WaitReady(heal); err != nil {
		return err
	}
	away := addressesOf(s.other(s.home))
	if err := together(s.drivers, func(d *driver) error { return d.read(ctx, away) }); err != nil {
		return err
	}
	if deaths := s.cluster.Deaths(); len(deaths) > 0 {
		return fmt.Errorf("nodes ended by themselves: %v", deaths)
	}
	if _, err := s.cluster.WaitHashes(heal); err != nil {
		return err
	}
	return errors.Join(s.cluster.StopAll(settleLimit))
}
