package admin

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/wal"
)

func walCommand(a *cli.App) *cobra.Command {
	cmd := cli.ParentCommand("wal", "Inspect a node's write-ahead log")
	cmd.AddCommand(walVerifyCommand(a), walInspectCommand(a))
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

func walVerifyCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "verify DATA-DIR",
		Short: "Read the whole log and check every checksum; changes nothing",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			report, err := wal.Verify(walDir(args[0]), wal.Options{})
			if err != nil {
				return err
			}
			if a.JSON {
				return a.WriteJSON(report)
			}
			torn := ""
			if report.Torn != nil {
				torn = "; the last write is incomplete: a crash cut it short, or it is damaged. The next start of " +
					"the node drops it, and tells"
			}
			_, err = fmt.Fprintf(a.Stdout, "sound: %d records in %d segments, index %d to %d%s\n",
				report.Records, len(report.Segments), report.FirstIndex, report.LastIndex, torn)
			for _, d := range report.DroppedDamage {
				if err == nil {
					_, err = fmt.Fprintf(a.Stdout,
						"dropped records are damaged, and no live one is: %s offset %d: %s\n", d.File,
						d.Offset, d.Reason)
				}
			}
			return err
		},
	}
}

func walInspectCommand(a *cli.App) *cobra.Command {
	var show wal.InspectOptions
	cmd := &cobra.Command{
		Use:     "inspect DATA-DIR",
		Short:   "Show what the log holds; changes nothing",
		Example: `  turnlog wal inspect /var/lib/turnlog --records --from 1000 --to 1010`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			out := bufio.NewWriter(a.Stdout)
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
