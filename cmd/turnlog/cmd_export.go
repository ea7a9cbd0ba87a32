package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
)

func (a *app) exportCommand() *cobra.Command {
	ex := &exporter{}
	file, zip := "", false
	cmd := &cobra.Command{
		Use:   "export [PREFIX]",
		Short: "Write sessions as JSON lines",
		Long: `Export writes each session whose key begins with PREFIX as a line that import
understands, in key order, its messages in the order in which they were committed
and with "seq" and "time". A payload that is JSON stands in "data" byte for byte;
any other in "data_base64". Deadlines are not exported.

Each session is read as it is at that moment; the whole is not one snapshot.`,
		Example: `  turnlog export -o backup.jsonl.gz --gzip
  turnlog export user/42/ | jq -r '.messages[].data.content'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				ex.prefix = args[0]
			}
			return a.withClient(func(ctx context.Context, c *client.Client) error {
				ex.c = c
				out, err := a.createOutput(file, zip)
				if err != nil {
					return err
				}
				ex.progress = newProgress(a.stderr, "export", 0, out.written.Load)
				err = ex.run(ctx, out)
				if err = out.finish(err); err != nil {
					ex.progress.finish("failed")
					return err
				}
				ex.progress.finish(fmt.Sprintf("%d sessions, %d messages", ex.sessions, ex.progress.items.Load()))
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write, which appears when it is complete (default: standard output)")
	cmd.Flags().BoolVar(&zip, "gzip", false, "compress")
	cmd.Flags().IntVar(&ex.workers, "workers", 8, "sessions that are read at the same time")
	return cmd
}
