package session

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func popCommand(a *cli.App) *cobra.Command {
	var (
		count  int
		from   = cli.SideFlag{Side: turn.Newest}
		expect cli.ExpectFlag
	)
	cmd := &cobra.Command{
		Use:   "pop KEY",
		Short: "Remove the newest message and show it",
		Example: `  turnlog pop alice                      # undo the last message
  turnlog pop alice --count 2 --expect 17`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				ms, err := expect.On(s).Pop(ctx, count, from.Side)
				if err != nil {
					return err
				}
				if len(ms) == 0 && !a.JSON {
					fmt.Fprintln(a.Stderr, "no messages")
				}
				return a.WriteMessages(a.Stdout, ms)
			})
		},
	}
	cmd.Flags().IntVar(&count, "count", 1, "how many messages")
	cmd.Flags().Var(&from, "from", "newest (highest seq), or an end of the Redis list: tail, head")
	expect.Register(cmd)
	return cmd
}
