package session

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func retainCommand(a *cli.App) *cobra.Command {
	var (
		keep   turn.Retention
		all    bool
		expect cli.ExpectFlag
	)
	cmd := &cobra.Command{
		Use:   "retain KEY (--messages N | --turns N | --all)",
		Short: "Set how much a session keeps by itself",
		Long: `Set how much a session keeps by itself from here on: its last messages, or its last turns, that is appends.
What is beyond goes at once. A tool call is not parted from its result: up to 128 more messages are kept for that.`,
		Example: `  turnlog retain alice --messages 200
  turnlog retain alice --turns 20
  turnlog retain alice --all          # no limit`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				s = expect.On(s)
				set := func() (turn.Result, error) { return s.Retain(ctx, keep) }
				if all {
					set = func() (turn.Result, error) { return s.RetainAll(ctx) }
				}
				r, err := set()
				return writeOutcome(a, err, cli.Written{Revision: r.Revision, Count: &r.Count, Removed: &r.Removed},
					"%d removed, %d kept, revision %d", r.Removed, r.Count, r.Revision)
			})
		},
	}
	cmd.Flags().Var((*cli.PositiveFlag)(&keep.Messages), "messages", "keep the `N` newest messages")
	cmd.Flags().Var((*cli.PositiveFlag)(&keep.Turns), "turns", "keep the messages of the `N` newest appends")
	cmd.Flags().BoolVar(&all, "all", false, "keep all messages")
	cmd.MarkFlagsMutuallyExclusive("messages", "turns", "all")
	cmd.MarkFlagsOneRequired("messages", "turns", "all")
	expect.Register(cmd)
	return cmd
}

// kept describes a limit.
func kept(k turn.Retention) string {
	n, noun := k.Messages, "message"
	if n == 0 {
		n, noun = k.Turns, "turn"
	}
	if n == 1 {
		return "the last " + noun
	}
	return "the last " + cli.Plural(n, noun)
}
