package admin

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

func contextCommand(a *cli.App) *cobra.Command {
	cmd := cli.ParentCommand("context", "Manage named connection settings")
	cmd.Long = `Context keeps under a name how to connect to a cluster: the addresses of its nodes,
namespace, user, and TLS files. Commands that connect use the context that --context or
TURNLOG_CONTEXT names, or else the selected one. What says how to connect goes in this order:
flags, the context in --context, the environment, the context in TURNLOG_CONTEXT, the selected
one. turnlog context show says what is in effect. A context's password is used for its user only,
and user and password only with its addresses: not if --addr or TURNLOG_ADDR names any other.

Contexts are files in $XDG_CONFIG_HOME/turnlog (~/.config/turnlog on Linux), which only this
user can read. No command shows a password that is kept there.`
	cmd.Example = `  turnlog context add prod --addr a.example:7379,b.example:7379 --tls-ca ca.crt \
    --user ops --password-file ops.password --select
  turnlog context add laptop --addr 127.0.0.1:7379
  turnlog cluster status                       # of prod, which is selected
  turnlog cluster status --context laptop
  turnlog context select none`
	for _, sub := range []*cobra.Command{contextAddCommand(a), contextSelectCommand(a), contextListCommand(a),
		contextShowCommand(a), contextRemoveCommand(a)} {
		cmd.AddCommand(cli.WithoutContext(sub))
	}
	return cmd
}

func contextSelectCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "select NAME",
		Short: "Select the default context (none: use no context)",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: a.CompleteContext,
		RunE: func(_ *cobra.Command, args []string) error {
			contexts, err := a.Contexts()
			if err != nil {
				return err
			}
			name := args[0]
			if name == cli.NoContext {
				name = ""
			} else if _, err := contexts.Load(name); err != nil {
				return err
			}
			if err := contexts.Select(name); err != nil {
				return err
			}
			return writeSelected(a, name)
		},
	}
}

func contextRemoveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"},
		Short: "Remove a context, and the password that it keeps",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: a.CompleteContext,
		RunE: func(_ *cobra.Command, args []string) error {
			contexts, err := a.Contexts()
			if err != nil {
				return err
			}
			before, err := contexts.Selected()
			if err != nil {
				return err
			}
			if err := contexts.Remove(args[0]); err != nil {
				return err
			}
			return writeRemoved(a, args[0], before)
		},
	}
}

// writeRemoved says that a context was removed, and if it was the one selected before, that none is now.
func writeRemoved(a *cli.App, name, selected string) (err error) {
	wasSelected := name == selected
	if wasSelected {
		selected = ""
	}
	switch {
	case a.JSON:
		err = a.WriteJSON(map[string]string{"removed": name, "selected": selected})
	case wasSelected:
		_, err = fmt.Fprintf(a.Stdout, "context %s was removed; no context is selected now\n", name)
	default:
		_, err = fmt.Fprintf(a.Stdout, "context %s was removed\n", name)
	}
	return err
}
