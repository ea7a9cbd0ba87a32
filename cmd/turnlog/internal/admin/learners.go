package admin

import (
	"context"

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
			return setVote(a, args[0], "promote", true)
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
			return setVote(a, args[0], "demote", false)
		},
	}
}

// setVote has the leader promote or demote a node.
func setVote(a *cli.App, id, verb string, votes bool) error {
	return withLeader(a, func(ctx context.Context, c *client.Client, leader turn.Node) error {
		before, _ := c.Cluster(ctx) // for the warning alone
		body := map[string]string{"id": id}
		if err := admin(a, ctx, leader.HTTPAddr, "POST", "/v1/cluster/"+verb, body, nil); err != nil {
			return err
		}
		warnOfFewVoters(a, before, id, votes)
		if votes {
			return done(a, "%s is a voter", id)
		}
		return done(a, "%s is a learner", id)
	})
}
