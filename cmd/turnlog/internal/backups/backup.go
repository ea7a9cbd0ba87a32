package backups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
	// incremental: only what the folder or bucket does not have is written.
	incremental bool
	metrics     string // the file for them; empty: none
	at          location
}

// taken is what it says to programs.
type taken struct {
	Path    string   `json:"path,omitempty"` // empty: standard output
	Removed []string `json:"removed,omitempty"`
	backup.Description
	Size    int64          `json:"size"` // of the backup
	Seconds float64        `json:"seconds"`
	Holds   backup.Summary `json:"holds"`
	Stored  *backup.Stored `json:"stored,omitempty"` // of an incremental one

	rotation error // why it could not be read back, or older ones not be removed
	locked   error // why the folder or bucket could not be unlocked
}

// defaultRate leaves a machine with two processors, which does all of the work, to its clients: their p99 is
// typically that without a backup, and was 2.4 times that in one run of five.
const defaultRate config.Size = 16 << 20

func backupCommand(a *cli.App) *cobra.Command {
	t := &taking{App: a, rate: defaultRate}
	cmd := &cobra.Command{
		Use:   "backup (FILE | FOLDER | s3://BUCKET/PREFIX | -)",
		Short: "Back up the cluster while it works",
		Long: `Backup writes the whole state as of one log entry, with everything that was
acknowledged before it began: sessions and values of all namespaces with their seqs,
ids, revisions, metadata and deadlines, and what is remembered to recognise retries. It
reads the state of one node, a follower unless --node names one, while clients write.
Users and certificates are files of the nodes, and not part of it.

A backup is compressed, and has checksums throughout. A FILE gets its name when it is
complete and on disk; a backup of that name is replaced, any other file never. In a FOLDER
(one that exists, or a name that ends in /) each backup is a file of its own, named by time,
log entry and cluster; with --keep the oldest of this cluster are removed after one that
succeeded and was read back. "-" is standard output.

With --incremental, a backup in a FOLDER or bucket writes only what those before have not: it
cuts the state into chunks, each known by its SHA-256, and keeps those that are new in packs. Each
backup has all of the state by itself: it is listed, verified, restored and rotated like any other,
and packs are removed when no backup needs them. A backup that was interrupted leaves its packs,
and the next one writes none of that again.

` + aboutS3 + `

It requires the right admin, or the admin token of a node on this machine.`,
		Example: `  turnlog backup /var/backups/turnlog/ --keep 14
  turnlog backup s3://backups/turnlog --incremental --keep 14
  turnlog backup - | ssh vault 'cat > turnlog.tlb'
  turnlog backup verify /var/backups/turnlog/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("keep") && t.keep < 1 {
				return cli.Usagef("--keep must be at least 1")
			}
			if t.rate > 0 && t.rate < 2*minrate.BackupBytesPerSecond {
				return cli.Usagef("--rate %s: must be 2MiB or more; a node ends backups that are read more slowly",
					t.rate.String())
			}
			return t.run(args[0])
		},
	}
	cmd.Flags().StringVar(&t.node, "node", "", "id of the node to read (default: one that follows)")
	cmd.Flags().IntVar(&t.keep, "keep", 0, "in a folder or bucket, keep so many backups of this cluster (default: all)")
	cmd.Flags().BoolVar(&t.incremental, "incremental", false,
		"in a folder or bucket, write only what the backups there do not have")
	cmd.Flags().StringVar(&t.metrics, "metrics-file", "",
		"after success, write time, duration and size for Prometheus's node exporter into this file (*.prom)")
	cmd.Flags().Var(&t.rate, "rate",
		"bytes of state to read a second; 0: as many as the node sends, which --snapshot-rate bounds")
	t.at = location{App: a}
	t.at.register(cmd)
	cmd.AddCommand(verifyCommand(a), listCommand(a))
	return cmd
}

func (t *taking) run(target string) error {
	if target == "-" && cli.IsTerminal(t.Stdout) {
		return cli.Usagef("a backup cannot be written to a terminal: redirect the output, or name a file")
	}
	many := isMany(target)
	if flag := t.ofMany(); flag != "" && !many {
		return cli.Usagef("%s needs a folder or a bucket, and %s is neither; end the name with / to create a folder",
			flag, target)
	}
	if !many && isURL(target) {
		return cli.Usagef("%s: name a bucket and a prefix; the backup gets a name of its own", target)
	}
	if target != "-" && !many {
		if err := checkReplaced(target); err != nil {
			return err
		}
	}
	return t.WithClient(func(ctx context.Context, c *client.Client) error {
		var done taken
		var err error
		switch {
		case target == "-":
			done, err = t.take(ctx, c, t.Stdout)
		case many:
			done, err = t.intoStorage(ctx, c, target)
		default:
			done.Path = target
			err = backup.WriteFile(target, func(w io.Writer) (err error) {
				done, err = t.take(ctx, c, w)
				done.Path = target
				return err
			})
		}
		if err != nil {
			return cli.Advise(err, t.left(target, err))
		}
		return errors.Join(t.report(&done), t.finish(&done))
	})
}

// finish returns what went wrong after a backup was written, and writes its metrics if it can be relied upon.
func (t *taking) finish(done *taken) (err error) {
	if done.locked != nil {
		err = fmt.Errorf("the backup was written; its folder or bucket was not unlocked: %w", done.locked)
	}
	if done.rotation != nil {
		return errors.Join(err, done.notRotated())
	}
	if t.metrics != "" {
		if merr := writeMetrics(t.metrics, done); merr != nil {
			err = errors.Join(err, fmt.Errorf("the backup was written; its metrics were not: %w", merr))
		}
	}
	return err
}

// checkReplaced returns why a backup may not be written to a file: there is one that is no backup.
func checkReplaced(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return cli.Usagef("%s is no file: name one, or - for standard output", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := backup.NewReader(f); err != nil {
		return cli.Usagef("%s exists and is not replaced, since it cannot be read as a backup: %w; give another name",
			path, err)
	}
	return nil
}

// ofMany returns the first flag that was given and needs a place for several backups, empty if there is none.
func (t *taking) ofMany() string {
	switch {
	case t.keep > 0:
		return "--keep"
	case t.incremental:
		return "--incremental"
	}
	return ""
}

// notRotated says of a backup that was written whether it can be relied upon.
func (d *taken) notRotated() error {
	if errors.Is(d.rotation, backup.ErrNotReadBack) {
		return fmt.Errorf("do not rely on the new backup; older ones were kept: %w", d.rotation)
	}
	return fmt.Errorf("%s was written and is whole, but not all backups in excess of --keep were removed: %w",
		d.Path, d.rotation)
}

func (t *taking) intoStorage(ctx context.Context, c *client.Client, target string) (done taken, err error) {
	storage, err := t.at.storage(target)
	if err != nil {
		return done, err
	}
	repo, err := backup.OpenRepository(ctx, storage)
	if err != nil {
		return done, err
	}
	defer func() {
		if done.locked = repo.Close(); err != nil {
			err = errors.Join(err, done.locked)
		}
	}()
	name, done, err := t.add(ctx, c, repo)
	if done.Path = repo.Path(name); err != nil || t.keep == 0 {
		return done, err
	}
	removed, err := repo.Rotate(ctx, name, t.keep)
	for _, name := range removed {
		done.Removed = append(done.Removed, repo.Path(name))
	}
	done.rotation = err
	return done, nil
}

// add adds a backup to a repository, and returns its name.
func (t *taking) add(ctx context.Context, c *client.Client, repo *backup.Repository) (name string, done taken,
	err error) {
	var increment *backup.Increment
	if t.incremental { // what is there is read before the node begins to send, since it does not wait
		cl, err := c.Cluster(ctx)
		if err != nil {
			return "", done, err
		}
		if increment, err = repo.Increment(ctx, cl.ID); err != nil {
			return "", done, err
		}
	}
	s, err := openSource(t.App, ctx, c, t.node)
	if err != nil {
		return "", done, err
	}
	defer s.body.Close()
	if increment == nil {
		name, err = repo.Add(ctx, s.Description, func(w io.Writer) (err error) {
			done, err = t.copy(ctx, s, w)
			return err
		})
		return name, done, err
	}
	var stored backup.Stored
	done, err = t.read(ctx, s, func(dump io.Reader) (holds backup.Summary, err error) {
		name, holds, stored, err = increment.Add(ctx, s.Description, dump)
		return holds, err
	})
	done.Size, done.Stored = stored.Bytes, &stored
	if err == nil && stored.Again != "" {
		fmt.Fprintf(t.Stderr, "turnlog: %s; what it had is written again\n", stored.Again)
	}
	return name, done, err
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
func (t *taking) copy(ctx context.Context, s *source, w io.Writer) (done taken, err error) {
	var size cli.Counter
	done, err = t.read(ctx, s, func(dump io.Reader) (backup.Summary, error) {
		return backup.Write(io.MultiWriter(w, &size), s.Description, dump)
	})
	done.Size = size.Count()
	return done, err
}

// read has store make a backup of what a node sends.
func (t *taking) read(ctx context.Context, s *source, store func(io.Reader) (backup.Summary, error)) (taken, error) {
	began := time.Now()
	var in cli.Counter
	from := io.TeeReader(s, &in)
	if t.rate > 0 {
		from = &paced{r: from, rate: int64(t.rate), began: began}
	}
	progress := cli.StartProgress(t.Stderr, "backup of node "+s.NodeID,
		cli.ProgressOf{Total: s.Bytes, At: in.Count, Items: func() int64 { return in.Count() >> 20 }, Unit: "MiB"})
	holds, err := store(from)
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
	return taken{Description: s.Description, Seconds: took.Seconds(), Holds: holds}, nil
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
	if s := d.Stored; s != nil {
		fmt.Fprintf(to, "of %d chunks, %d were new, and %d came from a backup that was interrupted\n", s.Chunks, s.New,
			s.Resumed)
	}
	for _, path := range d.Removed {
		fmt.Fprintf(to, "removed: %s\n", path)
	}
	return nil
}
