package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

func (a *app) popCommand() *cobra.Command {
	var (
		count  int
		from   = sideFlag{turn.Newest}
		expect expectFlag
	)
	cmd := &cobra.Command{
		Use:   "pop KEY",
		Short: "Remove the newest message and show it",
		Example: `  turnlog pop alice                      # undo the last message
  turnlog pop alice --count 2 --expect 17`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withSession(args[0], func(ctx context.Context, s client.Session) error {
				ms, err := expect.on(s).Pop(ctx, count, from.side)
				if err != nil {
					return err
				}
				if len(ms) == 0 && !a.json {
					fmt.Fprintln(a.stderr, "no messages")
				}
				return a.writeMessages(a.stdout, ms)
			})
		},
	}
	cmd.Flags().IntVar(&count, "count", 1, "how many messages")
	cmd.Flags().Var(&from, "from", "newest (highest seq), or an end of the Redis list: tail, head")
	expect.register(cmd)
	return cmd
}
