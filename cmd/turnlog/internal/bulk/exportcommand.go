package bulk

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/migrate"
)

func exportCommand(a *cli.App) *cobra.Command {
	ex := &exporter{}
	mv := &mover{App: a, command: "export"}
	file, zip, to := "", false, ""
	cmd := &cobra.Command{
		Use:   "export [PREFIX]",
		Short: "Write sessions as JSON lines, or copy everything to a Redis",
		Long: `Export writes each session whose key begins with PREFIX as a line that import
understands, in key order, its messages in the order in which they were committed
and with "seq" and "time". A payload that is JSON is in "data", byte for byte;
any other in "data_base64". Deadlines are not exported.

Sessions are read one after the other: the export is not a snapshot of all of them.

With --to it writes to a Redis instead: keys of all types, as Redis
clients of turnlog see them, with their deadlines, and compares every key afterwards. Redis keeps no
ids, seqs and times of messages, and no metadata. Everything that
"turnlog import --help" says of redis:// applies here, in reverse.`,
		Example: `  turnlog export -o backup.jsonl.gz --gzip
  turnlog export user/42/ | jq -r '.messages[].data.content'
  turnlog export --to redis://10.0.0.5:6379/0`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				ex.prefix = args[0]
			}
			if to != "" {
				if file != "" || zip {
					return cli.Usagef("--to cannot be combined with --output or --gzip")
				}
				mv.cfg.Workers = ex.workers
				return mv.exportTo(to, ex.prefix)
			}
			if err := mv.refuseFlags(cmd); err != nil {
				return err
			}
			return a.WithClient(func(ctx context.Context, c *client.Client) error {
				ex.c = c
				out, err := createOutput(a, file, zip)
				if err != nil {
					return err
				}
				ex.progress = cli.NewProgress(a.Stderr, "export", 0, out.written.Count)
				err = ex.run(ctx, out)
				if err = out.finish(err); err != nil {
					ex.progress.Finish("failed")
					return err
				}
				ex.progress.Finish(cli.Plural(ex.sessions, "session") + ", " +
					cli.Plural(ex.progress.Items(), "message"))
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "",
		"file to write, for its owner only; it appears when it is complete (default: standard output)")
	cmd.Flags().BoolVar(&zip, "gzip", false, "compress")
	cmd.Flags().IntVar(&ex.workers, "workers", 8, "sessions, or batches of keys, that are read at the same time")
	cmd.Flags().StringVar(&to, "to", "", "a Redis to write to: redis://[USER@]HOST[:PORT][/DATABASE]")
	mv.register(cmd)
	return cmd
}

func (m *mover) exportTo(url, prefix string) error {
	target, err := m.redisPlace(url)
	if err != nil {
		return err
	}
	if prefix != "" && m.cfg.Match != "" {
		return cli.Usagef("give a prefix or --match, not both")
	}
	if prefix != "" {
		m.cfg.Match = migrate.GlobLiteral(prefix) + "*"
	}
	source, err := turnlogPlace(m.App)
	if err != nil {
		return err
	}
	return m.run(source, target)
}
