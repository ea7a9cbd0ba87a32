package raftstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/peer"
)

// bootstrap gives an empty node the initial configuration as its first log
// entry. Every member of that configuration does so by itself, with the same
// entry, so it does not matter who is first.
//
// Before that, it asks the others whether the cluster exists already. If it
// does, this node has no part in its beginning: either it was added later, or it
// starts late; in both cases the leader sends it the log. If the cluster knows
// this node id with another incarnation, this directory replaces one that was
// lost, and the node must not start: it may have promised votes and entries of
// which it now knows nothing.
func (n *Node) bootstrap(ctx context.Context) error {
	if !n.data.Blank() {
		return nil
	}
	if n.cfg.Join {
		n.log.Info("waiting to be added to a cluster, as by 'turnlog cluster join' with this id and address",
			"addr", n.cfg.Peers.Advertise)
		return nil
	}
	initial := n.cfg.InitialCluster
	if len(initial) == 0 {
		initial = map[string]string{n.id: n.cfg.Peers.Advertise}
	}
	exists, err := n.askOthers(ctx, initial)
	if err != nil || exists {
		return err
	}
	var c raft.Configuration
	for id, addr := range initial {
		c.Servers = append(c.Servers,
			raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(addr), Suffrage: raft.Voter})
	}
	slices.SortFunc(c.Servers, func(a, b raft.Server) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	n.log.Info("bootstrapping a new cluster", "servers", fmt.Sprint(initial))
	return n.data.Bootstrap(c)
}

// askOthers reports whether another member of the initial configuration knows of
// an existing cluster. One that cannot be reached is passed over.
func (n *Node) askOthers(ctx context.Context, initial map[string]string) (exists bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for id, addr := range initial {
		if id == n.id {
			continue
		}
		wg.Go(func() {
			facts, e := n.net.Probe(ctx, addr)
			var refusal *peer.Refusal
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.As(e, &refusal):
				err = fmt.Errorf("node %s at %s rejects this node: %s", id, addr, refusal.Reason)
			case e == nil && facts.ClusterID != "":
				exists = true
			}
		})
	}
	wg.Wait()
	return exists, err
}
