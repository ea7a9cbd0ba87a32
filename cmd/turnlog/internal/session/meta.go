package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func metaCommand(a *cli.App) *cobra.Command {
	var (
		unset  []string
		expect cli.ExpectFlag
	)
	cmd := &cobra.Command{
		Use:   "meta KEY [NAME=VALUE...]",
		Short: "Show or change a session's metadata",
		Example: `  turnlog meta alice
  turnlog meta alice title='Lost order' agent=support-3 --unset draft`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := namedValues(args[1:])
			if err != nil {
				return err
			}
			return a.WithSession(args[0], func(ctx context.Context, s client.Session) error {
				if len(set)+len(unset) == 0 {
					return showMeta(a, ctx, s)
				}
				r, err := expect.On(s).SetMetadata(ctx, set, unset...)
				return writeOutcome(a, err, cli.Written{Revision: r.Revision}, "revision %d", r.Revision)
			})
		},
	}
	cmd.Flags().StringArrayVar(&unset, "unset", nil, "name to remove; may be repeated")
	expect.Register(cmd)
	return cmd
}

// namedValues reads NAME=VALUE.
func namedValues(pairs []string) (map[string]string, error) {
	set := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, cli.Usagef("%q is not NAME=VALUE", pair)
		}
		set[name] = value
	}
	return set, nil
}

func showMeta(a *cli.App, ctx context.Context, s client.Session) error {
	m, err := s.Metadata(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		if m == nil {
			m = map[string]string{}
		}
		return a.WriteJSON(m)
	}
	rows := [][]string{}
	for _, k := range sortedKeys(m) {
		rows = append(rows, []string{cli.Printable([]byte(k)), cli.Printable([]byte(m[k]))})
	}
	return a.Table(rows)
}

// writeOutcome says what a write did, unless it failed: o to programs, the sentence to people.
func writeOutcome(a *cli.App, err error, o cli.Written, format string, args ...any) error {
	if err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(o)
	}
	_, err = fmt.Fprintf(a.Stdout, format+"\n", args...)
	return err
}
