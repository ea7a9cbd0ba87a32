package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func tailCommand(a *cli.App) *cobra.Command {
	var (
		after uint64
		last  int
		count int
	)
	cmd := &cobra.Command{
		Use:   "tail KEY",
		Short: "Follow a session: each message once, in order, until Ctrl-C",
		Long: `Tail shows messages as they are committed: those that come from now on, unless
--last or --after is given. Until there are some, it writes nothing to standard
output. It continues by itself across restarts and changes of the leader, at
another node if --addr names several. If no node answers for --timeout, it ends
and prints the seq from which to continue.

It follows the key. When the session is deleted, has expired, or is renamed, tail waits for the
next session of that key; when another session is renamed to the key with --replace, it goes on
with that one. It shows the new session from its first message, and says so on standard error.`,
		Example: `  turnlog tail alice               # what comes from now on
  turnlog tail alice --last 10     # the ten newest first
  turnlog tail alice --after 17    # everything after seq 17
  turnlog tail alice --json | my-program`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) (err error) {
				if !cmd.Flags().Changed("after") {
					if after, err = beforeLast(ctx, s, last); err != nil {
						return err
					}
				}
				if cli.IsTerminal(a.Stderr) && !a.JSON {
					fmt.Fprintf(a.Stderr, "following %s after seq %d; Ctrl-C ends it\n", cli.Printable([]byte(args[0])),
						after)
				}
				return tail(a, ctx, s, after, count)
			})
		},
	}
	cmd.Flags().Uint64Var(&after, "after", 0, "begin after this seq (0: with the first message)")
	cmd.Flags().IntVar(&last, "last", 0, "begin with the N newest messages")
	cmd.Flags().IntVar(&count, "count", 0, "end after N messages (0: never)")
	cmd.MarkFlagsMutuallyExclusive("after", "last")
	return cmd
}

// beforeLast returns the seq after which the n newest messages come.
func beforeLast(ctx context.Context, s client.Session, n int) (uint64, error) {
	h, err := s.Last(ctx, max(n, 1))
	if n > 0 && len(h.Messages) > 0 {
		return h.Messages[0].Seq - 1, err
	}
	return h.Last, err
}

func tail(a *cli.App, ctx context.Context, s client.Session, after uint64, count int) error {
	n, behind := 0, after
	for m, err := range s.Tail(ctx, after) {
		if errors.Is(err, context.Canceled) {
			return nil // Ctrl-C is how a tail ends
		}
		if err != nil {
			return fmt.Errorf("stopped after seq %d: %w", after, err)
		}
		if m.Seq <= behind && !a.JSON {
			fmt.Fprintf(a.Stderr,
				"turnlog: the session was deleted, renamed or replaced, or has expired: what follows is "+
					"another session of that key\n")
		}
		behind = m.Seq
		if err := a.WriteMessages(a.Stdout, []turn.Message{m}); err != nil {
			return err
		}
		if after, n = m.Seq, n+1; n == count {
			return nil
		}
	}
	return nil
}
