package session

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func trimCommand(a *cli.App) *cobra.Command {
	var (
		keep, before uint64
		expect       cli.ExpectFlag
	)
	cmd := &cobra.Command{
		Use:   "trim KEY",
		Short: "Remove old messages",
		Example: `  turnlog trim alice --keep 100      # keep the 100 newest
  turnlog trim alice --before 17     # remove what comes before seq 17`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) (err error) {
				var r turn.Result
				if cmd.Flags().Changed("keep") {
					r, err = expect.On(s).TrimKeep(ctx, keep)
				} else {
					r, err = expect.On(s).TrimBefore(ctx, before)
				}
				return writeOutcome(a, err, cli.Written{Revision: r.Revision, Count: &r.Count, Removed: &r.Removed},
					"%d removed, %d kept, revision %d", r.Removed, r.Count, r.Revision)
			})
		},
	}
	cmd.Flags().Uint64Var(&keep, "keep", 0, "keep the N newest messages")
	cmd.Flags().Uint64Var(&before, "before", 0, "remove messages before this seq")
	cmd.MarkFlagsMutuallyExclusive("keep", "before")
	cmd.MarkFlagsOneRequired("keep", "before")
	expect.Register(cmd)
	return cmd
}

func clearCommand(a *cli.App) *cobra.Command {
	var expect cli.ExpectFlag
	cmd := &cobra.Command{
		Use:   "clear KEY",
		Short: "Remove all messages; metadata and numbering stay",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				r, err := expect.On(s).Clear(ctx)
				return writeOutcome(a, err, cli.Written{Revision: r.Revision, Removed: &r.Removed},
					"%d removed, revision %d",
					r.Removed, r.Revision)
			})
		},
	}
	expect.Register(cmd)
	return cmd
}
