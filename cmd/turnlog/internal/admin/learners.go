package admin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func clusterPromoteCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "promote ID",
		Short: "Give a learner a vote",
		Long: `Promote makes a voter of a learner: it counts for the majority that commits writes and
elects leaders. The command waits until the node has caught up.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return withLeader(a, func(ctx context.Context, c *client.Client, leader turn.Node) error {
				before, _ := c.Cluster(ctx) // for the warning alone
				body := map[string]string{"id": args[0]}
				if err := admin(a, ctx, leader.HTTPAddr, "POST", "/v1/cluster/promote", body, nil); err != nil {
					return err
				}
				warnOfFewVoters(a, before, args[0], true)
				return done(a, "%s is a voter", args[0])
			})
		},
	}
}

func clusterDemoteCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "demote ID",
		Short: "Take a voter's vote: it stays a member, as a learner",
		Long: `Demote makes a learner of a voter: it keeps its data and serves requests, but counts for
no majority, until it is promoted. If it leads, it hands over first. It need not run.

The demotion is refused if the voters that would remain and can be reached are no majority,
and if the node is the last voter. It needs cluster level 2.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return withLeader(a, func(ctx context.Context, c *client.Client, leader turn.Node) error {
				before, _ := c.Cluster(ctx) // for the warning alone
				body := map[string]string{"id": args[0]}
				if err := admin(a, ctx, leader.HTTPAddr, "POST", "/v1/cluster/demote", body, nil); err != nil {
					return err
				}
				warnOfFewVoters(a, before, args[0], false)
				return done(a, "%s is a learner", args[0])
			})
		},
	}
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
