package admin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

// shownContext is a context without its password.
type shownContext struct {
	Name     string `json:"name"`
	Selected bool   `json:"selected"`
	cli.Context
	KeepsPassword bool `json:"keeps_password"`
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
	s = shownContext{Name: name, Selected: name == selected, Context: x, KeepsPassword: x.Password != ""}
	s.Password = ""
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
		Short: "Show a context, by default the one that commands use; not its password",
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
				return cli.Unchanged(turn.Errorf(turn.NotFound,
					"no context is selected; `turnlog context select NAME` selects one"))
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
	password := s.PasswordFile
	if s.KeepsPassword {
		password = "(kept here)"
	}
	rows := append([][]string{{"name", s.Name}}, settingRows("", s.Context, password)...)
	if s.InEffect != nil {
		rows = append(rows, []string{"overridden by", strings.Join(s.OverriddenBy, ", ")})
		rows = append(rows, settingRows("in effect: ", *s.InEffect, a.PasswordFrom())...)
	}
	return a.Table(rows)
}

// settingRows has a row for each setting that a context has.
func settingRows(prefix string, x cli.Context, password string) (rows [][]string) {
	for _, r := range [][2]string{{"addr", x.Addr}, {"namespace", x.Namespace}, {"user", x.User},
		{"password", password},
		{"tls", strconv.FormatBool(x.TLS || x.TLSCA != "" || x.TLSCert != "")}, {"tls-ca", x.TLSCA},
		{"tls-cert", x.TLSCert}, {"tls-key", x.TLSKey}} {
		if r[1] != "" {
			rows = append(rows, []string{prefix + r[0], cli.Printable([]byte(r[1]))})
		}
	}
	return rows
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
