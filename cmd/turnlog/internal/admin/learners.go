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
			return withLeader(a, func(ctx context.Context, _ *client.Client, leader turn.Node) error {
				body := map[string]string{"id": args[0]}
				if err := admin(a, ctx, leader.HTTPAddr, "POST", "/v1/cluster/promote", body, nil); err != nil {
					return err
				}
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
			return withLeader(a, func(ctx context.Context, _ *client.Client, leader turn.Node) error {
				body := map[string]string{"id": args[0]}
				if err := admin(a, ctx, leader.HTTPAddr, "POST", "/v1/cluster/demote", body, nil); err != nil {
					return err
				}
				return done(a, "%s is a learner", args[0])
			})
		},
	}
}
