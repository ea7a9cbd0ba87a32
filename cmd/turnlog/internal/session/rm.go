package session

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func rmCommand(a *cli.App) *cobra.Command {
	var (
		prefix string
		yes    bool
		expect cli.ExpectFlag
	)
	cmd := &cobra.Command{
		Use:   "rm (KEY... | --prefix PREFIX --yes)",
		Short: "Delete sessions",
		Example: `  turnlog rm alice
  turnlog rm alice --expect 17              # only if it is still at revision 17
  turnlog rm --prefix user/42/ --yes        # every session of user 42`,
		RunE: func(cmd *cobra.Command, args []string) error {
			byPrefix := cmd.Flags().Changed("prefix")
			switch {
			case byPrefix == (len(args) > 0):
				return cli.Usagef("give keys, or --prefix")
			case byPrefix && !yes:
				return cli.Usagef("--prefix %q deletes every session whose key has this prefix; add --yes to do it",
					prefix)
			case expect.Revision != nil && len(args) != 1:
				return cli.Usagef("--expect can be used with a single key only")
			}
			return a.WithClient(func(ctx context.Context, c *client.Client) error {
				if byPrefix {
					return erase(a, ctx, c, prefix)
				}
				return remove(a, ctx, c, args, &expect)
			})
		},
	}
	cmd.Flags().StringVar(&prefix, "prefix", "",
		"delete every session whose key has this prefix (empty: the whole namespace)")
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm --prefix")
	expect.Register(cmd)
	return cmd
}

func remove(a *cli.App, ctx context.Context, c *client.Client, keys []string, expect *cli.ExpectFlag) error {
	removed := uint64(0)
	for _, k := range keys {
		existed, err := expect.On(c.Session(k)).Delete(ctx)
		if err != nil {
			err = fmt.Errorf("%s: %w", k, err)
			if removed > 0 {
				err = cli.Partly(err, "Before that, %s deleted.", cli.Were(removed, "session"))
			}
			return err
		}
		if existed {
			removed++
		}
	}
	if err := writeRemoved(a, removed); err != nil {
		return err
	}
	if removed < uint64(len(keys)) {
		err := error(turn.Errorf(turn.NotFound, "%d of %d sessions did not exist", uint64(len(keys))-removed,
			len(keys)))
		if removed > 0 {
			err = cli.Partly(err, "The others, %d, were deleted.", removed)
		}
		return err
	}
	return nil
}

func erase(a *cli.App, ctx context.Context, c *client.Client, prefix string) error {
	erase := func() (uint64, error) { return c.Erase(ctx, prefix) }
	if prefix == "" { // which --yes has confirmed
		erase = func() (uint64, error) { return c.EraseAll(ctx) }
	}
	n, err := erase()
	if turn.Is(err, turn.Unknown) || turn.Is(err, turn.Unavailable) || turn.Is(err, turn.Overloaded) {
		// It takes place piece by piece.
		return cli.Partly(err, "Some of the sessions may have been deleted. Run it again to delete the rest.")
	}
	if err != nil {
		return err
	}
	return writeRemoved(a, n)
}

func writeRemoved(a *cli.App, n uint64) error {
	if a.JSON {
		return a.WriteJSON(map[string]uint64{"removed": n})
	}
	_, err := fmt.Fprintf(a.Stdout, "%d deleted\n", n)
	return err
}
