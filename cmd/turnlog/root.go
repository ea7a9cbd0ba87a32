package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/admin"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/backups"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/bulk"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/nodes"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/session"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/trials"
	"github.com/turnlog/turnlog/turn"
)

const exitHelp = `Exit status:
  0  done
  1  failed; nothing was changed, unless the message says otherwise
  2  the command line or the input is wrong; nothing was changed, unless the
     message says otherwise (import: what the lines before were)
  3  the outcome is unknown: the change may or may not have taken place, or
     (cluster checksum) not all states were compared
  4  a condition does not hold (--expect, an id used twice, a session that exists)
  5  what is named is not there: a session (info, edit, expire, fork, rename, rm),
     a message (edit), a field (hash get), a member, a backup, or a context; other
     commands find no messages in such a session, and end with 0`

func rootCommand(a *cli.App) *cobra.Command {
	showVersion := false
	root := &cobra.Command{
		Use:   "turnlog",
		Short: "A replicated memory for AI agents: session key → ordered log of messages",
		Long: `turnlog keeps the conversations of AI agents: session key → ordered log of
messages, committed on a majority of nodes before a client is told that it was saved.

` + exitHelp,
		Example: `  turnlog dev                                         # three nodes on this machine
  turnlog append alice '{"role":"user","content":"hi"}'
  turnlog read alice --last 20
  turnlog tail alice                                  # follow, until Ctrl-C`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return writeVersion(a)
			}
			return cmd.Help()
		},
	}
	// Not cobra's own flag: it needs text/template, with which the linker drops no method (8 MB).
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.PlainFlagError(err) })
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "show the version")
	a.RegisterContext(root)
	f := root.PersistentFlags()
	f.StringVar(&a.Addr, "addr", a.Env("TURNLOG_ADDR", "127.0.0.1:7379"),
		"RESP addresses of nodes, separated by commas; give several, so that the\ncommand works while a node is down "+
			"(TURNLOG_ADDR)")
	f.StringVarP(&a.Namespace, "namespace", "n", a.Env("TURNLOG_NAMESPACE", turn.DefaultNamespace),
		"keyspace to work in (TURNLOG_NAMESPACE)")
	f.DurationVar(&a.Timeout, "timeout", 15*time.Second, "how long to retry an operation when no node answers")
	a.TimeoutGiven = func() bool { return f.Changed("timeout") }
	a.Login.Register(f, a.Getenv)
	f.BoolVar(&a.JSON, "json", false, "write JSON for programs")
	return root
}

// root is the table of contents.
func root(a *cli.App) *cobra.Command {
	root := rootCommand(a)
	root.AddGroup(
		&cobra.Group{ID: "node", Title: "Run nodes:"},
		&cobra.Group{ID: "session", Title: "Work with sessions:"},
		&cobra.Group{ID: "bulk", Title: "Move data:"},
		&cobra.Group{ID: "admin", Title: "Operate a cluster:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("node", nodes.Commands(a)...)
	add("session", session.Commands(a)...)
	add("bulk", bulk.Commands(a)...)
	add("admin", slices.Concat(admin.Commands(a), backups.Commands(a), trials.Commands(a))...)
	root.AddCommand(versionCommand(a), manPagesCommand(a), trials.VerifyWriterCommand(a))
	return root
}
