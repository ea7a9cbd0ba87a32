package session

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/jsonl"
	"github.com/turnlog/turnlog/turn"
)

func hashCommand(a *cli.App) *cobra.Command {
	cmd := cli.ParentCommand("hash", "Show or change state beside messages")
	cmd.Long = `A hash keeps fields under a key of its own: state of a user, an application or a run,
beside the messages of sessions. A field may have up to 8 MiB, where all metadata of a
session together has 16 KiB at most. The key must not be that of a session with messages.
rm deletes a hash, expire gives it a deadline, as they do with sessions.

With --json, each field is a line; what is not JSON in one line is written as
"data_base64".`
	cmd.Example = `  turnlog hash set user:7 plan=gold name=Ada
  turnlog hash set run:1 --file checkpoint=state.bin
  turnlog hash get user:7
  turnlog hash get run:1 checkpoint --raw > state.bin
  turnlog hash unset user:7 plan`
	cmd.AddCommand(hashGetCommand(a), hashSetCommand(a), hashUnsetCommand(a))
	return cmd
}

func hashGetCommand(a *cli.App) *cobra.Command {
	raw := false
	cmd := &cobra.Command{
		Use:   "get KEY [NAME...]",
		Short: "Show fields of a hash: the named ones, which must exist, or all",
		Example: `  turnlog hash get user:7
  turnlog hash get user:7 plan --raw`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			names := args[1:]
			if raw && len(names) != 1 {
				return cli.Usagef("--raw writes a single field: give its name")
			}
			return a.WithClient(func(ctx context.Context, c *client.Client) error {
				fields, err := hashFields(ctx, c.Hash(args[0]), names)
				if err != nil {
					return err
				}
				if raw {
					_, err := a.Stdout.Write(fields[names[0]])
					return err
				}
				return writeFields(a, fields)
			})
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "write the bytes of the one field that is named, and nothing else")
	return cmd
}

// hashFields returns the fields of those names, or all if there are no names.
func hashFields(ctx context.Context, h client.Hash, names []string) (map[string][]byte, error) {
	if len(names) == 0 {
		return h.All(ctx)
	}
	fields, err := h.Get(ctx, names...)
	for _, name := range names {
		if _, ok := fields[name]; !ok && err == nil {
			err = turn.Errorf(turn.NotFound, "the hash has no field %q", name)
		}
	}
	return fields, err
}

func writeFields(a *cli.App, fields map[string][]byte) error {
	rows := [][]string{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if a.JSON {
			line := jsonl.AppendText([]byte{'{'}, "name", name)
			line = append(jsonl.AppendPayload(append(line, ','), fields[name]), "}\n"...)
			if _, err := a.Stdout.Write(line); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{cli.Printable([]byte(name)), cli.Printable(fields[name])})
	}
	return a.Table(rows)
}

func hashSetCommand(a *cli.App) *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "set KEY [NAME=VALUE...]",
		Short: "Set fields of a hash, all or none; it is created if needed",
		Example: `  turnlog hash set user:7 plan=gold name=Ada
  turnlog hash set run:1 step=12 --file checkpoint=state.bin`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			fields, err := fieldsToSet(a, args[1:], files)
			if err != nil {
				return err
			}
			return a.WithClient(func(ctx context.Context, c *client.Client) error {
				r, err := c.Hash(args[0]).Set(ctx, fields...)
				return writeOutcome(a, err, cli.Written{Revision: r.Revision, Duplicate: &r.Duplicate},
					"%d new, revision %d", r.Number, r.Revision)
			})
		},
	}
	cmd.Flags().StringArrayVar(&files, "file", nil,
		`NAME=PATH: set the field to what the file holds ("-": standard input); may be repeated`)
	return cmd
}

// fieldsToSet reads NAME=VALUE and NAME=PATH.
func fieldsToSet(a *cli.App, pairs, files []string) ([]turn.Field, error) {
	values, err := namedValues(pairs)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name, path, ok := strings.Cut(file, "=")
		if !ok {
			return nil, cli.Usagef("--file %q is not NAME=PATH", file)
		}
		if _, twice := values[name]; twice {
			return nil, cli.Usagef("the field %q is given twice", name)
		}
		text, err := contents(a, path)
		if err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
		values[name] = string(text)
	}
	if len(values) == 0 {
		return nil, cli.Usagef("no field to set: give NAME=VALUE, or --file NAME=PATH")
	}
	fields := make([]turn.Field, 0, len(values))
	for _, name := range sortedKeys(values) {
		fields = append(fields, turn.Field{Name: name, Value: []byte(values[name])})
	}
	return fields, nil
}

func contents(a *cli.App, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(a.Stdin)
	}
	return os.ReadFile(path)
}

func hashUnsetCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "unset KEY NAME...",
		Short:   "Remove fields of a hash; without fields there is no hash",
		Example: `  turnlog hash unset user:7 plan`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.WithClient(func(ctx context.Context, c *client.Client) error {
				r, err := c.Hash(args[0]).Remove(ctx, args[1:]...)
				return writeOutcome(a, err, cli.Written{Revision: r.Revision, Removed: &r.Removed},
					"%d removed, revision %d", r.Removed, r.Revision)
			})
		},
	}
}
