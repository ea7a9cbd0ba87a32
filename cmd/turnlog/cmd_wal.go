package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/wal"
)

func (a *app) walCommand() *cobra.Command {
	cmd := parentCommand("wal", "Inspect a node's write-ahead log")
	cmd.AddCommand(a.walVerifyCommand(), a.walInspectCommand())
	return cmd
}

// walDir returns the log's folder, given it or the node's data directory.
func walDir(dir string) string {
	if inner := filepath.Join(dir, "wal"); isDir(inner) {
		return inner
	}
	return dir
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func (a *app) walVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify DATA-DIR",
		Short: "Read the whole log and check every checksum; changes nothing",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			report, err := wal.Verify(walDir(args[0]), wal.Options{})
			if err != nil {
				return err
			}
			if a.json {
				return a.writeJSON(report)
			}
			torn := ""
			if report.Torn != nil {
				torn = "; the last write is incomplete: a crash cut it short, or it is damaged. The next start of " +
					"the node drops it, and tells"
			}
			_, err = fmt.Fprintf(a.stdout, "sound: %d records in %d segments, index %d to %d%s\n",
				report.Records, len(report.Segments), report.FirstIndex, report.LastIndex, torn)
			for _, d := range report.DroppedDamage {
				if err == nil {
					_, err = fmt.Fprintf(a.stdout,
						"dropped records are damaged, and no live one is: %s offset %d: %s\n", d.File,
						d.Offset, d.Reason)
				}
			}
			return err
		},
	}
}

func (a *app) walInspectCommand() *cobra.Command {
	var show wal.InspectOptions
	cmd := &cobra.Command{
		Use:     "inspect DATA-DIR",
		Short:   "Show what the log holds; changes nothing",
		Example: `  turnlog wal inspect /var/lib/turnlog --records --from 1000 --to 1010`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			out := bufio.NewWriter(a.stdout)
			if err := wal.Inspect(walDir(args[0]), wal.Options{}, out, show); err != nil {
				out.Flush()
				return err
			}
			return out.Flush()
		},
	}
	cmd.Flags().BoolVar(&show.Batches, "batches", false, "a line for each batch")
	cmd.Flags().BoolVar(&show.Records, "records", false, "a line for each record")
	cmd.Flags().Uint64Var(&show.From, "from", 0, "from this index on")
	cmd.Flags().Uint64Var(&show.To, "to", 0, "up to this index (0: to the end)")
	return cmd
}
