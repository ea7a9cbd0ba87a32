package session

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

func forkCommand(a *cli.App) *cobra.Command {
	var (
		at     uint64
		expect cli.ExpectFlag
	)
	cmd := &cobra.Command{
		Use:     "fork KEY NEW-KEY",
		Short:   "Copy a session, or its beginning, to a new key",
		Example: `  turnlog fork alice alice-retry --at 17   # messages up to seq 17, with their seqs`,
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				r, err := expect.On(s).Fork(ctx, args[1], at)
				return writeOutcome(a, err,
					cli.Written{First: r.First, Last: r.Last, Revision: r.Revision, Count: &r.Count},
					"%s, revision %d", cli.Plural(r.Count, "message"), r.Revision)
			})
		},
	}
	cmd.Flags().Uint64Var(&at, "at", 0, "the last seq to copy (0: all)")
	expect.Register(cmd)
	return cmd
}
