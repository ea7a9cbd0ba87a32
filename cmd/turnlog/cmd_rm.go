package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

func (a *app) rmCommand() *cobra.Command {
	var (
		prefix string
		yes    bool
		expect expectFlag
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
				return usagef("give keys, or --prefix")
			case byPrefix && !yes:
				return usagef("--prefix %q deletes every session whose key begins so; add --yes to do it", prefix)
			case expect.revision != nil && len(args) != 1:
				return usagef("--expect goes with a single key")
			}
			return a.withClient(func(ctx context.Context, c *client.Client) error {
				if byPrefix {
					return a.erase(ctx, c, prefix)
				}
				return a.remove(ctx, c, args, &expect)
			})
		},
	}
	cmd.Flags().StringVar(&prefix, "prefix", "",
		"delete every session whose key has this prefix (empty: the whole namespace)")
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm --prefix")
	expect.register(cmd)
	return cmd
}

func (a *app) remove(ctx context.Context, c *client.Client, keys []string, expect *expectFlag) error {
	removed := uint64(0)
	for _, k := range keys {
		existed, err := expect.on(c.Session(k)).Delete(ctx)
		if err != nil {
			err = fmt.Errorf("%s: %w", k, err)
			if removed > 0 {
				err = partly(err, "Before that, %d sessions were deleted.", removed)
			}
			return err
		}
		if existed {
			removed++
		}
	}
	if err := a.writeRemoved(removed); err != nil {
		return err
	}
	if removed < uint64(len(keys)) {
		err := error(turn.Errorf(turn.NotFound, "%d of %d sessions did not exist", uint64(len(keys))-removed,
			len(keys)))
		if removed > 0 {
			err = partly(err, "The others, %d, were deleted.", removed)
		}
		return err
	}
	return nil
}

func (a *app) erase(ctx context.Context, c *client.Client, prefix string) error {
	erase := func() (uint64, error) { return c.Erase(ctx, prefix) }
	if prefix == "" { // which --yes has confirmed
		erase = func() (uint64, error) { return c.EraseAll(ctx) }
	}
	n, err := erase()
	if turn.Is(err, turn.Unknown) || turn.Is(err, turn.Unavailable) || turn.Is(err, turn.Overloaded) {
		// It takes place piece by piece.
		return partly(err, "Some of the sessions may have been deleted. Run it again to delete the rest.")
	}
	if err != nil {
		return err
	}
	return a.writeRemoved(n)
}

func (a *app) writeRemoved(n uint64) error {
	if a.json {
		return a.writeJSON(map[string]uint64{"removed": n})
	}
	_, err := fmt.Fprintf(a.stdout, "%d deleted\n", n)
	return err
}
