package session

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func renameCommand(a *cli.App) *cobra.Command {
	var (
		replace bool
		expect  cli.ExpectFlag
	)
	cmd := &cobra.Command{
		Use:   "rename KEY NEW-KEY",
		Short: "Move a session to another key",
		Long: `Move a session to another key, with its messages, metadata, deadline and limit. The new key must not exist,
unless --replace is given: then what it holds is deleted.`,
		Example: `  turnlog rename alice archive/alice
  turnlog rename alice-edited alice --replace`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				r, err := expect.On(s).Rename(ctx, args[1], replace)
				err = renameError(err, args[0], args[1])
				return writeOutcome(a, err, cli.Written{Revision: r.Revision, Count: &r.Count},
					"%s, revision %d", cli.Plural(r.Count, "message"), r.Revision)
			})
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "delete what the new key holds")
	expect.Register(cmd)
	return cmd
}

// renameError names the key that a rename failed for.
func renameError(err error, from, to string) error {
	switch turn.KindOf(err) {
	case turn.Exists:
		return cli.Advise(turn.Errorf(turn.Exists, "the key %q exists already", to),
			"Nothing was changed. --replace deletes what the key holds.")
	case turn.NotFound:
		return turn.Errorf(turn.NotFound, "there is no session %q", from)
	}
	return err
}
