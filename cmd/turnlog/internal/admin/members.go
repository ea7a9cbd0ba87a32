package admin

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func clusterTransferCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "transfer",
		Short: "Transfer leadership to another node",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return withLeader(a, func(ctx context.Context, _ *client.Client, leader turn.Node) error {
				if err := admin(a, ctx, leader.HTTPAddr, "POST", "/v1/cluster/transfer", nil, nil); err != nil {
					return err
				}
				return done(a, "%s has handed leadership over", leader.ID)
			})
		},
	}
}

func clusterJoinCommand(a *cli.App) *cobra.Command {
	var learner bool
	cmd := &cobra.Command{
		Use:   "join ID RAFT-ADDR",
		Short: "Make a new node a member",
		Long: `Join makes a running node a member: it receives all data first and votes when it
has caught up. The node must have been started with --join and an empty data
directory, under an id that no member has; that of a node that was removed is free
again.

With --learner it never votes, and no write waits for it: it serves reads, and forwards
writes to the leader, as any other node. It stays a learner through restarts and changes
of leader, until promote, or join without --learner, gives it a vote.`,
		Example: `  turnlog serve --join --node-id n4 --data-dir n4 --raft-addr 127.0.0.1:7411 \
    --resp-addr 127.0.0.1:7409 --http-addr 127.0.0.1:7410
  turnlog cluster join n4 127.0.0.1:7411`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return withLeader(a, func(ctx context.Context, _ *client.Client, leader turn.Node) error {
				if err := addMember(a, ctx, leader, args[0], args[1], learner); err != nil {
					return err
				}
				if learner {
					return done(a, "%s is a learner", args[0])
				}
				return done(a, "%s is a member", args[0])
			})
		},
	}
	cmd.Flags().BoolVar(&learner, "learner", false, "it gets no vote: a replica for reads")
	return cmd
}

func clusterRemoveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a member; its node stops by itself",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return withLeader(a, func(ctx context.Context, c *client.Client, leader turn.Node) error {
				before, _ := c.Cluster(ctx) // for the warning alone
				if err := removeMember(a, ctx, leader, args[0]); err != nil {
					return err
				}
				warnOfFewVoters(a, before, args[0], false)
				return done(a, "%s is no longer a member", args[0])
			})
		},
	}
}

func addMember(a *cli.App, ctx context.Context, leader turn.Node, id, raftAddr string, learner bool) error {
	body := map[string]any{"id": id, "raft_addr": raftAddr}
	if learner {
		body["learner"] = true
	}
	return admin(a, ctx, leader.HTTPAddr, "POST", "/v1/cluster/nodes", body, nil)
}

func removeMember(a *cli.App, ctx context.Context, leader turn.Node, id string) error {
	return admin(a, ctx, leader.HTTPAddr, "DELETE", "/v1/cluster/nodes?id="+url.QueryEscape(id), nil, nil)
}

func done(a *cli.App, format string, args ...any) error {
	if a.JSON {
		return a.WriteJSON(map[string]bool{"done": true})
	}
	_, err := fmt.Fprintf(a.Stdout, format+"\n", args...)
	return err
}

func clusterChecksumCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "checksum",
		Short: "Compare the states of all nodes, by their hashes at one log index",
		Long: `Checksum ends with 0 if all nodes that can be reached have the same state, and
with 1 if one differs, and with 3 if it gave up before all were compared. A node
that is still catching up, or hashing, is waited for, up to --timeout: of a large
state that takes minutes.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return withLeader(a, func(ctx context.Context, c *client.Client, leader turn.Node) error {
				var taken struct {
					Index uint64
					Hash  string
				}
				if err := admin(a, ctx, leader.HTTPAddr, "POST", "/v1/cluster/checksum", nil, &taken); err != nil {
					return cli.NotCompared(err)
				}
				cl, err := hashedCluster(a, ctx, c, taken.Index)
				if err != nil {
					return cli.NotCompared(err)
				}
				return writeVerdict(a, cl, taken.Index, taken.Hash)
			})
		},
	}
}

// hashedCluster waits until every node that can be reached has hashed its state
// at index.
func hashedCluster(a *cli.App, ctx context.Context, c *client.Client, index uint64) (turn.Cluster, error) {
	deadline := time.After(a.Timeout)
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		cl, err := c.Cluster(ctx)
		if err != nil {
			return cl, err
		}
		missing := ""
		for _, n := range cl.Nodes {
			if n.Reachable && n.HashIndex < index {
				missing = fmt.Sprintf("%s, which has applied entry %d,", n.ID, n.Applied)
			}
		}
		if missing == "" {
			return cl, nil
		}
		select {
		case <-poll.C:
		case <-deadline:
			return cl, fmt.Errorf("%s has not hashed its state at index %d within %s", missing, index, a.Timeout)
		case <-ctx.Done():
			return cl, ctx.Err()
		}
	}
}

func writeVerdict(a *cli.App, cl turn.Cluster, index uint64, hash string) error {
	compared := 0
	for _, n := range cl.Nodes {
		switch {
		case !n.Reachable:
			continue
		case n.HashIndex != index:
			return cli.NotCompared(fmt.Errorf("another checksum was taken meanwhile, at index %d; try again",
				n.HashIndex))
		case n.StateHash != hash:
			return turn.Errorf(turn.Corrupt, "the state of %s at index %d has hash %s, that of the leader %s", n.ID,
				index, n.StateHash, hash)
		}
		compared++
	}
	if a.JSON {
		return a.WriteJSON(map[string]any{"index": index, "hash": hash, "compared": compared, "nodes": len(cl.Nodes)})
	}
	_, err := fmt.Fprintf(a.Stdout, "%d of %d nodes compared: the same state at index %d, hash %s\n", compared,
		len(cl.Nodes), index, hash)
	return err
}

// warnOfFewVoters says what is at risk if a cluster has one voter or two since the node id got its vote, or lost it.
func warnOfFewVoters(a *cli.App, before turn.Cluster, id string, votes bool) {
	var voters []string
	for _, n := range before.Nodes {
		if n.ID == id && votes || n.ID != id && n.Voter {
			voters = append(voters, n.ID)
		}
	}
	switch len(voters) {
	case 1:
		fmt.Fprintf(a.Stderr, "warning: %s is the only voter: writes fail while it is down, and what its disk loses "+
			"is lost\n", voters[0])
	case 2:
		fmt.Fprintf(a.Stderr, "warning: %s and %s are the only voters: writes fail while either of them is down\n",
			voters[0], voters[1])
	}
}
