package admin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func clusterCommand(a *cli.App) *cobra.Command {
	cmd := cli.ParentCommand("cluster", "Show and change the cluster")
	cmd.AddCommand(clusterStatusCommand(a), clusterChecksumCommand(a), clusterTransferCommand(a),
		clusterJoinCommand(a), clusterRemoveCommand(a))
	return cmd
}

func clusterStatusCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the nodes, their roles and their progress",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.WithClient(func(ctx context.Context, c *client.Client) error {
				cl, err := c.Cluster(ctx)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.WriteJSON(clusterToJSON(cl))
				}
				return writeCluster(a, cl)
			})
		},
	}
}

type clusterJSON struct {
	ID     string     `json:"id"`
	Leader string     `json:"leader"`
	Term   uint64     `json:"term"`
	Nodes  []nodeJSON `json:"nodes"`

	Level         turn.ClusterLevel `json:"level"`
	LevelWaitsFor []string          `json:"level_waits_for,omitempty"`
}

type nodeJSON struct {
	ID        string `json:"id"`
	RaftAddr  string `json:"raft_addr"`
	RESPAddr  string `json:"resp_addr"`
	HTTPAddr  string `json:"http_addr"`
	Role      string `json:"role"`
	Applied   uint64 `json:"applied"`
	Match     uint64 `json:"match"`
	Reachable bool   `json:"reachable"`
	StateHash string `json:"state_hash,omitempty"`
	HashIndex uint64 `json:"hash_index,omitempty"`

	Level     turn.ClusterLevel  `json:"level"`
	HoldLevel *turn.ClusterLevel `json:"hold_level,omitempty"`
}

func clusterToJSON(c turn.Cluster) clusterJSON {
	out := clusterJSON{ID: c.ID, Leader: c.Leader, Term: c.Term, Nodes: []nodeJSON{}, Level: c.Level,
		LevelWaitsFor: c.LevelWaitsFor()}
	for _, n := range c.Nodes {
		out.Nodes = append(out.Nodes, nodeJSON(n))
	}
	return out
}

func writeCluster(a *cli.App, c turn.Cluster) error {
	leader := c.Leader
	if leader == "" {
		leader = "none"
	}
	fmt.Fprintf(a.Stdout, "cluster %s, leader %s, term %d, level %d\n", c.ID, leader, c.Term, c.Level)
	for _, reason := range c.LevelWaitsFor() {
		fmt.Fprintf(a.Stdout, "the level does not rise: %s\n", reason)
	}
	fmt.Fprintln(a.Stdout)
	rows := [][]string{{"NODE", "ROLE", "LEVEL", "APPLIED", "ON DISK", "RESP", "HTTP", "NODE TO NODE", "STATE HASH"}}
	for _, n := range c.Nodes {
		role := n.Role
		if !n.Reachable {
			role = "unreachable"
		}
		hash := "-"
		if n.StateHash != "" {
			hash = fmt.Sprintf("%.12s at %d", n.StateHash, n.HashIndex)
		}
		rows = append(rows, []string{n.ID, role, levelOf(&n), fmt.Sprint(n.Applied), fmt.Sprint(n.Match),
			cli.OrDash(n.RESPAddr), cli.OrDash(n.HTTPAddr), n.RaftAddr, hash})
	}
	return a.Table(rows)
}

// levelOf returns what a node knows, or holds.
func levelOf(n *turn.Node) string {
	switch {
	case !n.Reachable:
		return "-"
	case n.HoldLevel != nil:
		return fmt.Sprintf("%d, holds %d", n.Level, *n.HoldLevel)
	}
	return fmt.Sprint(n.Level)
}
