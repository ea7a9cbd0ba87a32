package session

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func expireCommand(a *cli.App) *cobra.Command {
	var slide, never bool
	cmd := &cobra.Command{
		Use:   "expire KEY (DURATION | --never)",
		Short: "Set or remove the time at which a session is deleted",
		Example: `  turnlog expire alice 24h            # delete it in a day
  turnlog expire alice 24h --slide    # a day after the last append
  turnlog expire alice --never`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if never == (len(args) == 2) || never && slide {
				return cli.Usagef("give a duration such as 24h, or --never")
			}
			d, err := time.Duration(0), error(nil)
			if !never {
				if d, err = time.ParseDuration(args[1]); err != nil || d <= 0 {
					return cli.Usagef("%q is not a positive duration such as 90s, 15m or 24h", args[1])
				}
			}
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				return expire(a, ctx, s, d, slide)
			})
		},
	}
	cmd.Flags().BoolVar(&slide, "slide", false, "every append restarts the TTL")
	cmd.Flags().BoolVar(&never, "never", false, "remove the deadline")
	return cmd
}

func expire(a *cli.App, ctx context.Context, s client.Session, d time.Duration, slide bool) error {
	changed, err := false, error(nil)
	if d == 0 {
		changed, err = s.Persist(ctx)
	} else {
		changed, err = s.Expire(ctx, d, slide)
	}
	if err != nil {
		return err
	}
	if !changed && d != 0 {
		return turn.Errorf(turn.NotFound, "there is no session %q", s.Key())
	}
	if a.JSON {
		return a.WriteJSON(map[string]bool{"changed": changed})
	}
	note := "deadline set"
	switch {
	case d == 0 && changed:
		note = "deadline removed"
	case d == 0:
		note = "there was no deadline"
	}
	_, err = fmt.Fprintln(a.Stdout, note)
	return err
}
