package backups

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/minrate"
)

// taking is a run of `turnlog backup`.
type taking struct {
	*cli.App
	node string
	keep int
	rate config.Size
}

// taken is what it says to programs.
type taken struct {
	Path    string   `json:"path,omitempty"` // empty: standard output
	Removed []string `json:"removed,omitempty"`
	backup.Description
	Size    int64          `json:"size"` // of the backup
	Seconds float64        `json:"seconds"`
	Holds   backup.Summary `json:"holds"`
}

func backupCommand(a *cli.App) *cobra.Command {
	t := &taking{App: a}
	cmd := &cobra.Command{
		Use:   "backup (FILE | FOLDER | -)",
		Short: "Back up the cluster while it works",
		Long: `Backup writes the whole state as of one log entry, with everything that was
acknowledged before it began: sessions and values of all namespaces with their seqs,
ids, revisions, metadata and deadlines, and what is remembered to recognise retries. It
reads the state of one node, a follower unless --node names one, while clients write.
Users and certificates are files of the nodes, and not part of it.

A backup is compressed, and has checksums throughout. A FILE gets its name when it is
complete and on disk. In a FOLDER (one that exists, or a name that ends in /) each backup
is a file of its own, named by time, log entry and cluster; with --keep the oldest of this
cluster are removed after one that succeeded. "-" is standard output.

It requires the right admin, or the admin token of a node on this machine.`,
		Example: `  turnlog backup /var/backups/turnlog/ --keep 14
  turnlog backup - | ssh vault 'cat > turnlog.tlb'
  turnlog backup verify /var/backups/turnlog/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("keep") && t.keep < 1 {
				return cli.Usagef("--keep must be at least 1")
			}
			if t.rate > 0 && t.rate < 2*minrate.BackupBytesPerSecond {
				return cli.Usagef("--rate %s: must be 2MiB or more; a node ends backups that are read more slowly", t.rate.String())
			}
			return t.run(args[0])
		},
	}
	cmd.Flags().StringVar(&t.node, "node", "", "id of the node to read (default: one that follows)")
	cmd.Flags().IntVar(&t.keep, "keep", 0, "in a folder, keep so many backups of this cluster (default: all)")
	cmd.Flags().Var(&t.rate, "rate",
		"bytes of state to read a second, such as 16MiB; the node's --snapshot-rate is a bound, too")
	cmd.AddCommand(verifyCommand(a), listCommand(a))
	return cmd
}

func (t *taking) run(target string) error {
	if target == "-" && cli.IsTerminal(t.Stdout) {
		return cli.Usagef("a backup is not written to a terminal: redirect the output, or name a file")
	}
	folder := isFolder(target)
	if t.keep > 0 && !folder {
		return cli.Usagef("--keep goes with a folder: %s is none (end a name in / to make one)", target)
	}
	return t.WithClient(func(ctx context.Context, c *client.Client) error {
		var done taken
		var err error
		switch {
		case target == "-":
			done, err = t.take(ctx, c, t.Stdout)
		case folder:
			done, err = t.intoFolder(ctx, c, target)
		default:
			done.Path = target
			err = backup.WriteFile(target, func(w io.Writer) (err error) {
				done, err = t.take(ctx, c, w)
				done.Path = target
				return err
			})
		}
		if err != nil {
			return cli.Advise(err, "There is no new backup, unless only the folder could not be synced; what was "+
				"there before is whole.")
		}
		return t.report(&done)
	})
}

func (t *taking) intoFolder(ctx context.Context, c *client.Client, dir string) (done taken, err error) {
	folder, err := backup.OpenFolder(dir)
	if err != nil {
		return done, err
	}
	defer folder.Close()
	s, err := openSource(t.App, ctx, c, t.node)
	if err != nil {
		return done, err
	}
	defer s.body.Close()
	path, err := folder.Add(s.Description, func(w io.Writer) (err error) {
		done, err = t.copy(ctx, s, w)
		return err
	})
	if done.Path = path; err != nil || t.keep == 0 {
		return done, err
	}
	if done.Removed, err = folder.Rotate(path, t.keep); err != nil {
		fmt.Fprintf(t.Stderr, "turnlog: the backup was written; older ones were kept: %v\n", err)
	}
	return done, nil
}

// take writes a backup to w.
func (t *taking) take(ctx context.Context, c *client.Client, w io.Writer) (taken, error) {
	s, err := openSource(t.App, ctx, c, t.node)
	if err != nil {
		return taken{}, err
	}
	defer s.body.Close()
	return t.copy(ctx, s, w)
}

// copy makes a backup of what a node sends.
func (t *taking) copy(ctx context.Context, s *source, w io.Writer) (taken, error) {
	began := time.Now()
	in := cli.NewCountingReader(s)
	var from io.Reader = in
	if t.rate > 0 {
		from = &paced{r: in, rate: int64(t.rate), began: began}
	}
	out := &countingWriter{w: w}
	progress := cli.StartProgress(t.Stderr, "backup of node "+s.NodeID,
		cli.ProgressOf{Total: s.Bytes, At: in.Count, Items: func() int64 { return in.Count() >> 20 }, Unit: "MiB"})
	holds, err := backup.Write(out, s.Description, from)
	if err != nil {
		progress.Finish("failed")
		err = s.cutShort(err, in.Count())
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return taken{}, err
	}
	took := time.Since(began)
	progress.Finish(fmt.Sprintf("%d MiB in %s", s.Bytes>>20, took.Round(time.Millisecond)))
	return taken{Description: s.Description, Size: out.n, Seconds: took.Seconds(), Holds: holds}, nil
}

func (t *taking) report(d *taken) error {
	to := t.Stdout
	if d.Path == "" {
		to = t.Stderr
	}
	if t.JSON && d.Path != "" {
		return t.WriteJSON(d)
	}
	fmt.Fprintf(to, "%s: %s\n", cmp.Or(d.Path, "standard output"), summary(&d.Description, &d.Holds, d.Size))
	for _, path := range d.Removed {
		fmt.Fprintf(to, "removed: %s\n", path)
	}
	return nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
