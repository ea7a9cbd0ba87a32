package admin

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func contextCommand(a *cli.App) *cobra.Command {
	cmd := cli.ParentCommand("context", "Manage named connection settings")
	cmd.Long = `Context keeps under a name how to connect to a cluster: the addresses of its nodes,
namespace, user, and TLS files. Commands that connect use the context that --context or
TURNLOG_CONTEXT names, or else the selected one. What says how to connect goes in this order:
flags, the context in --context, the environment, the context in TURNLOG_CONTEXT, the selected
one. turnlog context show says what is in effect. A context's secret is used for its user only,
and user and secret only with its addresses: not if --addr or TURNLOG_ADDR names any other.

Contexts are files in $XDG_CONFIG_HOME/turnlog (~/.config/turnlog on Linux), which only this
user can read. No command shows a secret that is kept there.`
	cmd.Example = `  turnlog context add prod --addr a.example:7379,b.example:7379 --tls-ca ca.crt \
    --user ops --secret-file ops.secret --select
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

func contextAddCommand(a *cli.App) *cobra.Command {
	ask, replace, selected := false, false, false
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Save connection settings from flags or environment as a context",
		Long: `Add keeps what --addr, --namespace, --user, --secret-file, --tls, --tls-ca, --tls-cert and
--tls-key say, or else the variables of the environment that go with them. Addresses
are needed, and a user for --secret-file. Files are kept by name, and must be readable.
TURNLOG_SECRET is not kept: give --secret-file, or --ask for a secret that is written into the
context's file. With --replace, nothing of the context before is kept. Add prints what it
saved, except a secret.`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.BoolVar(&ask, "ask", false,
		"read the user's secret from the terminal, or else a line of standard input, and keep it")
	f.BoolVar(&replace, "replace", false, "replace the context of that name")
	f.BoolVar(&selected, "select", false, "and select it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := args[0]
		if err := cli.CheckContextName(name); err != nil {
			return err
		}
		contexts, err := a.Contexts()
		if err != nil {
			return err
		}
		if _, err := contexts.Load(name); turn.KindOf(err) != turn.NotFound && !replace {
			return turn.Errorf(turn.Exists, "context %s already exists; give --replace to overwrite it", name)
		}
		if !cmd.Flags().Changed("addr") && a.Getenv("TURNLOG_ADDR") == "" {
			return cli.Usagef("context %s needs addresses: give --addr, or set TURNLOG_ADDR; nothing was saved", name)
		}
		x, err := contextToKeep(a, ask)
		if err != nil {
			return err
		}
		return saveContext(a, contexts, name, x, selected)
	}
	return cmd
}

// saveContext saves a context, selects it if so asked, and shows it.
func saveContext(a *cli.App, contexts cli.Contexts, name string, x cli.Context, selected bool) error {
	if err := contexts.Save(name, x); err != nil {
		return err
	}
	if selected {
		if err := contexts.Select(name); err != nil {
			return cli.Partly(err, "Context %s was saved, and not selected.", name)
		}
	}
	s, err := showContext(contexts, name)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(s)
	}
	if err := writeContext(a, s); err != nil || !selected {
		return err
	}
	return writeSelected(a, name)
}

// checkContext returns why a context would connect to nothing.
func checkContext(x cli.Context) error {
	addrs := cli.SplitAddrs(x.Addr)
	if len(addrs) == 0 {
		return cli.Usagef("--addr %q: it has no address", x.Addr)
	}
	for _, addr := range addrs {
		host, port, err := net.SplitHostPort(addr)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || host == "" || perr != nil || n == 0 {
			return cli.Usagef("--addr %q: must be host:port, the port a number from 1 to 65535", addr)
		}
	}
	if x.SecretFile == "" {
		return nil
	}
	if x.User == "" {
		return cli.Usagef("--secret-file needs --user: whose secret it is")
	}
	if _, err := os.ReadFile(x.SecretFile); err != nil {
		return cli.Usagef("--secret-file: %w", err)
	}
	return nil
}

// contextToKeep is what flags and environment say, with the names of files as any working directory has them.
func contextToKeep(a *cli.App, ask bool) (x cli.Context, err error) {
	x = a.Settings()
	if ask && x.SecretFile != "" {
		return x, cli.Usagef("--ask and --secret-file: give one of them")
	}
	if err := checkContext(x); err != nil {
		return x, err
	}
	if _, err := a.Login.TLS(); err != nil { // files that cannot be read are not kept
		return x, err
	}
	for _, file := range []*string{&x.SecretFile, &x.TLSCA, &x.TLSCert, &x.TLSKey} {
		if *file != "" {
			if *file, err = filepath.Abs(*file); err != nil {
				return x, err
			}
		}
	}
	if !ask {
		return x, nil
	}
	if x.Secret, err = askSecret(a, x.User); err == nil && x.Secret == "" {
		err = cli.Usagef("the secret is empty; nothing was changed")
	}
	return x, err
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

// writeSelected says which context is selected from now on; empty: none.
func writeSelected(a *cli.App, name string) (err error) {
	switch {
	case a.JSON:
		err = a.WriteJSON(map[string]string{"selected": name})
	case name == "":
		_, err = fmt.Fprintln(a.Stdout, "no context is selected now")
	default:
		_, err = fmt.Fprintf(a.Stdout, "context %s is selected now\n", name)
	}
	return err
}

// shownContext is a context without its secret.
type shownContext struct {
	Name     string `json:"name"`
	Selected bool   `json:"selected"`
	cli.Context
	KeepsSecret bool `json:"keeps_secret"`
	// OverriddenBy has the flags and variables that go before the context, InEffect what commands connect with then.
	OverriddenBy []string     `json:"overridden_by,omitempty"`
	InEffect     *cli.Context `json:"in_effect,omitempty"`
	Error        string       `json:"error,omitempty"` // why it cannot be used
}

func showContext(contexts cli.Contexts, name string) (s shownContext, err error) {
	selected, err := contexts.Selected()
	if err != nil {
		return s, err
	}
	load := contexts.Load
	if name == selected {
		load = contexts.LoadSelected
	}
	x, err := load(name)
	s = shownContext{Name: name, Selected: name == selected, Context: x, KeepsSecret: x.Secret != ""}
	s.Secret = ""
	return s, err
}

// useBy adds what is in effect in a command that uses the context.
func (s *shownContext) useBy(a *cli.App, cmd *cobra.Command) {
	if x, by := a.InEffect(cmd, s.Context); len(by) > 0 {
		s.OverriddenBy, s.InEffect = by, &x
	}
}

func contextListCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Show the contexts", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			contexts, err := a.Contexts()
			if err != nil {
				return err
			}
			names, err := contexts.Names()
			if err != nil {
				return err
			}
			selected, err := contexts.Selected()
			if err != nil {
				return err
			}
			if selected != "" && !slices.Contains(names, selected) { // its file is gone
				names = append(names, selected)
				slices.Sort(names)
			}
			return listContexts(a, contexts, names)
		},
	}
}

// listContexts shows contexts; of one that cannot be used, it says why.
func listContexts(a *cli.App, contexts cli.Contexts, names []string) error {
	rows := [][]string{{"SELECTED", "CONTEXT", "ADDRESSES", "NAMESPACE", "USER"}}
	for _, name := range names {
		s, err := showContext(contexts, name)
		if err != nil {
			s = shownContext{Name: name, Selected: s.Selected, Error: err.Error()}
		}
		if a.JSON {
			if err := a.WriteJSON(s); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			fmt.Fprintf(a.Stderr, "turnlog: %v\n", err)
		}
		mark := ""
		if s.Selected {
			mark = "*"
		}
		rows = append(rows, []string{mark, name, cli.Printable([]byte(s.Addr)), cli.Printable([]byte(s.Namespace)),
			cli.Printable([]byte(s.User))})
	}
	if a.JSON {
		return nil
	}
	return a.Table(rows)
}

func contextShowCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show a context, by default the one that commands use; not its secret",
		Long: `Show what a context keeps. Without NAME, it is the context that commands use, and where flags or
the environment go before it, what they say and what commands connect with.`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.CompleteContext,
		RunE: func(cmd *cobra.Command, args []string) error {
			contexts, err := a.Contexts()
			if err != nil {
				return err
			}
			name := strings.Join(args, "")
			if name == "" {
				if name, err = a.ContextName(contexts); err != nil {
					return err
				}
			}
			if name == "" {
				return turn.Errorf(turn.NotFound, "no context is selected")
			}
			s, err := showContext(contexts, name)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				s.useBy(a, cmd)
			}
			if a.JSON {
				return a.WriteJSON(s)
			}
			return writeContext(a, s)
		},
	}
}

func writeContext(a *cli.App, s shownContext) error {
	secret := s.SecretFile
	if s.KeepsSecret {
		secret = "(kept here)"
	}
	rows := append([][]string{{"name", s.Name}}, settingRows("", s.Context, secret)...)
	if s.InEffect != nil {
		rows = append(rows, []string{"overridden by", strings.Join(s.OverriddenBy, ", ")})
		rows = append(rows, settingRows("in effect: ", *s.InEffect, a.SecretFrom())...)
	}
	return a.Table(rows)
}

// settingRows has a row for each setting that a context has.
func settingRows(prefix string, x cli.Context, secret string) (rows [][]string) {
	for _, r := range [][2]string{{"addr", x.Addr}, {"namespace", x.Namespace}, {"user", x.User}, {"secret", secret},
		{"tls", strconv.FormatBool(x.TLS || x.TLSCA != "" || x.TLSCert != "")}, {"tls-ca", x.TLSCA},
		{"tls-cert", x.TLSCert}, {"tls-key", x.TLSKey}} {
		if r[1] != "" {
			rows = append(rows, []string{prefix + r[0], cli.Printable([]byte(r[1]))})
		}
	}
	return rows
}

func contextRemoveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"},
		Short: "Remove a context, and the secret that it keeps",
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
