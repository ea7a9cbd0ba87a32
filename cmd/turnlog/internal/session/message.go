package session

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

// messageFlags name one message.
type messageFlags struct{ ref turn.MessageRef }

func (f *messageFlags) register(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&f.ref.Seq, "seq", 0, "seq of the message")
	cmd.Flags().StringVar(&f.ref.ID, "id", "", "id that the message was appended with")
	cmd.MarkFlagsMutuallyExclusive("seq", "id")
	cmd.MarkFlagsOneRequired("seq", "id")
}

func editCommand(a *cli.App) *cobra.Command {
	var (
		message messageFlags
		role    string
		expect  cli.ExpectFlag
	)
	cmd := &cobra.Command{
		Use:   "edit KEY [MESSAGE]",
		Short: "Give one message another payload",
		Long: `Edit replaces the payload of one message, which keeps its seq, time and id. A retry
of its append is still recognised, and does not undo the edit. "-", or no MESSAGE,
reads it from standard input.`,
		Example: `  turnlog edit alice --id q1 --role user 'Where is my other order?'
  turnlog edit alice --seq 17 '{"role":"user","content":"removed on request"}' --expect 42`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			payload, err := payloads(a, args[1:], false)
			if err != nil {
				return err
			}
			if role != "" {
				payload[0] = chatMessage(role, string(payload[0]))
			}
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				r, err := expect.On(s).Edit(ctx, message.ref, payload[0])
				return writeOutcome(a, err, cli.Written{Seq: r.First, Revision: r.Revision, Count: &r.Count},
					"seq %d, revision %d", r.First, r.Revision)
			})
		},
	}
	message.register(cmd)
	cmd.Flags().StringVar(&role, "role", "", `wrap the text as {"role":ROLE,"content":TEXT}`)
	expect.Register(cmd)
	return cmd
}

func removeCommand(a *cli.App) *cobra.Command {
	var (
		message messageFlags
		expect  cli.ExpectFlag
	)
	cmd := &cobra.Command{
		Use:   "remove KEY",
		Short: "Remove one message; the others keep their seqs",
		Long: `Remove removes one message. A retry of its append is still recognised, and does not
bring it back. A message that is not there is no error. To delete a session, use rm.`,
		Example: `  turnlog remove alice --id q1
  turnlog remove alice --seq 17 --expect 42`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				r, err := expect.On(s).Remove(ctx, message.ref)
				return writeOutcome(a, err, cli.Written{Revision: r.Revision, Count: &r.Count, Removed: &r.Removed},
					"%d removed, %d kept, revision %d", r.Removed, r.Count, r.Revision)
			})
		},
	}
	message.register(cmd)
	expect.Register(cmd)
	return cmd
}
