package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func (a *app) metaCommand() *cobra.Command {
	var (
		unset  []string
		expect expectFlag
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
			return a.withSession(args[0], func(ctx context.Context, s client.Session) error {
				if len(set)+len(unset) == 0 {
					return a.showMeta(ctx, s)
				}
				r, err := expect.on(s).SetMetadata(ctx, set, unset...)
				if err != nil {
					return err
				}
				return a.writeOutcome(outcomeJSON{Revision: r.Revision}, "revision %d", r.Revision)
			})
		},
	}
	cmd.Flags().StringArrayVar(&unset, "unset", nil, "name to remove; may be repeated")
	expect.register(cmd)
	return cmd
}

// namedValues reads NAME=VALUE.
func namedValues(pairs []string) (map[string]string, error) {
	set := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usagef("%q is not NAME=VALUE", pair)
		}
		set[name] = value
	}
	return set, nil
}

func (a *app) showMeta(ctx context.Context, s client.Session) error {
	m, err := s.Metadata(ctx)
	if err != nil {
		return err
	}
	if a.json {
		if m == nil {
			m = map[string]string{}
		}
		return a.writeJSON(m)
	}
	rows := [][]string{}
	for _, k := range sortedKeys(m) {
		rows = append(rows, []string{printable([]byte(k)), printable([]byte(m[k]))})
	}
	return a.table(rows)
}

// writeOutcome says what a write did: o to programs, the sentence to people.
func (a *app) writeOutcome(o outcomeJSON, format string, args ...any) error {
	if a.json {
		return a.writeJSON(o)
	}
	_, err := fmt.Fprintf(a.stdout, format+"\n", args...)
	return err
}
