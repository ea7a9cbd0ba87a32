package backups

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/newcluster"
	"github.com/turnlog/turnlog/turn"
)

// newNode is where a new cluster begins, as flags have it.
type newNode struct {
	dir, id, addr, engine string
}

func (n *newNode) register(cmd *cobra.Command, dirFlag, dirHelp, idDefault string) {
	d := config.Default()
	f := cmd.Flags()
	f.StringVar(&n.dir, dirFlag, "", dirHelp)
	f.StringVar(&n.id, "node-id", idDefault, "id of the new cluster's first node")
	f.StringVar(&n.addr, "raft-addr", d.Listen.Raft, "address of that node for other nodes, as others reach it")
}

func (n *newNode) cluster(log *slog.Logger) newcluster.Config {
	return newcluster.Config{DataDir: n.dir, NodeID: n.id, Addr: n.addr, Engine: n.engine, Logger: log}
}

// next says how the cluster goes on.
func (n *newNode) next() string {
	return fmt.Sprintf(`Start its first node, with your further settings and without --initial-cluster, with
which nodes that have empty directories would begin a second, empty cluster. With --join, this
node does not begin one either if it loses its directory one day:
  turnlog serve --node-id %[1]s --data-dir %[2]s --raft-addr %[3]s --join
Then start the others with --join and empty data directories, and add each:
  turnlog cluster join ID RAFT-ADDR`, n.id, n.dir, n.addr)
}

func restoreCommand(a *cli.App) *cobra.Command {
	var n newNode
	var until string
	at := &location{App: a}
	cmd := &cobra.Command{
		Use:   "restore (FILE | FOLDER | s3://BUCKET/PREFIX | -) --data-dir DIR",
		Short: "Begin a new cluster with a backup",
		Long: `Restore makes an empty directory the data directory of the first node of a new cluster,
which has everything that the backup has. Of a FOLDER or bucket it takes the last backup, with
--until the last one up to a time.

` + aboutS3 + `

The cluster has an id of its own: nodes of the old one cannot connect to it, even if they still
run. Sessions have the same messages, seqs, ids and revisions as in the backup, and retries
of what is in it are recognised. What the old cluster acknowledged later is not in it, and is not
mistaken for what comes now: revisions of that time fail as a condition, and tails of
the old cluster begin again. What expired since the backup expires at the first start.

Checksums find damage, and that a file is no backup; they are not keyed, so they do not tell who wrote
it. Restore only what no other user could have replaced.

Run by root, it gives what it makes to the owner of the directory, or, if that is new, of the nearest
one above it that is not. A directory that is not filled completely is refused by turnlog serve.`,
		Example: `  turnlog restore /var/backups/turnlog/ --data-dir /var/lib/turnlog --node-id n1 --raft-addr 10.0.0.1:7381`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ctx, stop := cli.Interruptible(context.Background())
			defer stop()
			if n.dir == "" {
				return cli.Usagef("--data-dir is missing: name a directory that is empty or does not exist yet")
			}
			from, err := at.choose(ctx, args[0], until)
			if err != nil {
				return err
			}
			return at.restore(ctx, from, &n)
		},
	}
	n.register(cmd, "data-dir", "directory to fill: empty, or not there yet", config.Default().NodeID)
	cmd.Flags().StringVar(&n.engine, "log-engine", "wal", "engine of the node's log, wal or boltdb")
	at.register(cmd)
	cmd.Flags().StringVar(&until, "until", "",
		"of a folder or bucket, take the last backup up to this time, such as 2026-11-24T15:04:05Z")
	return cmd
}

// choose returns the backup that is meant: of a folder or bucket, the last one up to a time.
func (l *location) choose(ctx context.Context, arg, until string) (one, error) {
	if arg == "-" || !isMany(arg) {
		if until != "" {
			return one{}, cli.Usagef("--until needs a folder or a bucket of backups")
		}
		return l.one(arg)
	}
	limit := time.Unix(1<<40, 0)
	if until != "" {
		var err error
		if limit, err = time.Parse(time.RFC3339, until); err != nil {
			return one{}, cli.Usagef("--until %q: must be a time such as 2026-11-24T15:04:05Z", until)
		}
	}
	s, err := l.storage(arg)
	if err != nil {
		return one{}, err
	}
	all, err := backup.List(ctx, s)
	if err != nil {
		return one{}, err
	}
	last, err := lastUntil(all, limit, arg)
	return one{s, last.Name, last.Path}, err
}

// noCluster is said of a restoration or a recovery that failed. What is left of it, the error says.
const noCluster = "No cluster was begun."

// lastUntil returns the backup of one cluster that goes furthest, of those made up to a time: clocks step back,
// the log does not.
func lastUntil(all []backup.Entry, limit time.Time, dir string) (last backup.Entry, err error) {
	cluster := ""
	for _, e := range all {
		d := &e.Description
		if e.Err != nil {
			return last, cli.Unchanged(turn.Errorf(turn.Corrupt, "%s cannot be read, and may be the one that is "+
				"meant: name the file to restore, or move that one away: %v", e.Path, e.Err))
		}
		if cluster != "" && d.ClusterID != cluster {
			return last, cli.Usagef("%s has backups of several clusters: name the file", dir)
		}
		if cluster = d.ClusterID; !d.Created.Truncate(time.Second).After(limit) { // lists have whole seconds
			last = e // they are in the order of the log
		}
	}
	if last.Name == "" {
		return last, cli.Advise(turn.Errorf(turn.NotFound, "%s has no such backup", dir),
			"Nothing was changed. `turnlog backup list` shows those that it has.")
	}
	return last, nil
}

func (l *location) restore(ctx context.Context, from one, n *newNode) error {
	a := l.App
	began := time.Now()
	r, err := l.open(ctx, from)
	if err != nil {
		return fmt.Errorf("%s: %w", from.path, err)
	}
	defer r.Close()
	c := n.cluster(slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	c.Origin = newcluster.Origin{By: "restore", At: time.Now().UTC(), Of: "backup " + r.Description.ID,
		ClusterID: r.Description.ClusterID}
	progress := l.progress("restore", r)
	var holds backup.Summary
	var streams uint64
	origin, err := newcluster.Restore(c, io.Reader(r), func(held statedump.Content) (err error) {
		streams = held.Streams
		holds, err = r.Finish(held)
		return err
	})
	if err != nil {
		progress.Finish("failed")
		return cli.Advise(fmt.Errorf("%s: %w", from.path, err), noCluster)
	}
	progress.Finish(time.Since(began).Round(time.Millisecond).String())
	if streams > 0 {
		fmt.Fprintf(a.Stderr, "turnlog: %d Redis streams go on after the last id that the backup has: "+
			"ids that clients choose themselves, not those of XADD *, may be given "+
			"to other entries than those that are lost\n", streams)
	}
	if a.JSON {
		return a.WriteJSON(map[string]any{"data_dir": n.dir, "cluster_id": origin.NewClusterID, "origin": origin,
			"holds": holds, "seconds": time.Since(began).Seconds()})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s is the first node of the new cluster %s, with the state of %s\n%s\n", n.dir,
		origin.NewClusterID, summary(&r.Description, &holds, r.FileBytes()), n.next())
	return err
}
