package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

func debugCommand(a *cli.App) *cobra.Command {
	cmd := cli.ParentCommand("debug", "Collect what a report of a problem needs")
	cmd.AddCommand(debugZipCommand(a))
	return cmd
}

func debugZipCommand(a *cli.App) *cobra.Command {
	var profiles, dirs []string
	cmd := &cobra.Command{
		Use:   "zip [FILE]",
		Short: "Write the state of the cluster into a ZIP file, without messages, keys or secrets",
		Long: `Zip asks each node in --addr, and those that they know, and writes into FILE
(turnlog-debug-DATE-TIME.zip if none is given):

  README.txt       what the file has, and what could not be had, and why
  cluster.json     the cluster as the node with the best view of it sees it
  views/           the cluster as each of these nodes sees it
  nodes/           each node's metrics, and whether it is ready
  profiles/        of each address in --pprof-addrs: its goroutines, and its heap
  data-dirs/       of each folder in --data-dirs: names, sizes and times of its files

It has no messages, session keys, metadata, secrets, users or logs; it does have the
names, addresses and versions of nodes. A file that exists is not replaced. A node
that does not answer is part of the picture: it is told, and the rest is collected.
It ends with 1 if no node answers; FILE is written then, too.

It waits 3 s for each answer, or --timeout, and changes nothing in the cluster. Nodes with
users show their metrics to users only.`,
		Example: `  turnlog debug zip --addr 127.0.0.1:7379,127.0.0.1:7389,127.0.0.1:7399
  turnlog debug zip report.zip --data-dirs /var/lib/turnlog --pprof-addrs 127.0.0.1:6060`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			now := time.Now()
			name := now.Format("turnlog-debug-20060102-150405.zip")
			if len(args) > 0 {
				name = args[0]
			}
			if name == "" || name == "-" {
				return cli.Usagef("name a file: a report is not written to standard output")
			}
			return writeReport(a, name, &report{app: a, began: now, profiles: profiles, dirs: dirs})
		},
	}
	cmd.Flags().StringSliceVar(&profiles, "pprof-addrs", nil,
		"--pprof-addr of nodes on this machine, separated by commas")
	cmd.Flags().StringSliceVar(&dirs, "data-dirs", nil,
		"data directories of nodes on this machine, separated by commas: only what files there are")
	return cmd
}

type reportJSON struct {
	File    string   `json:"file"`
	Bytes   int64    `json:"bytes"`
	Entries []string `json:"entries"`
	Missing []string `json:"missing"`
}

// writeReport writes the file, which is whole or not there.
func writeReport(a *cli.App, name string, r *report) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return cli.Usagef("%s exists: name another file", name)
	}
	if err != nil {
		return err
	}
	ctx, stop := cli.Interruptible(context.Background())
	defer stop()
	err = r.writeTo(ctx, f)
	size, sizeErr := f.Seek(0, 1)
	if err = cmp.Or(err, sizeErr, f.Sync(), f.Close()); err != nil {
		_ = f.Close()
		return errors.Join(fmt.Errorf("%s: %w", name, err), os.Remove(name))
	}
	if a.JSON {
		err = a.WriteJSON(reportJSON{name, size, r.entries, append([]string{}, r.missing...)})
	} else {
		_, err = fmt.Fprintf(a.Stdout, "%s: %s, %d KiB\n", name, cli.Plural(len(r.entries), "file"), (size+1023)>>10)
		for _, m := range r.missing {
			fmt.Fprintf(a.Stderr, "turnlog: missing: %s\n", m)
		}
	}
	if err == nil && !r.answered {
		err = cli.ErrTold
	}
	return err
}
