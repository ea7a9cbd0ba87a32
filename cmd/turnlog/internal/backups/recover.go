package backups

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/newcluster"
	"github.com/turnlog/turnlog/turn"
)

// recovery is a run of `turnlog recover`.
type recovery struct {
	*cli.App
	newNode
	accepted, again bool
}

func recoverCommand(a *cli.App) *cobra.Command {
	r := &recovery{App: a}
	cmd := &cobra.Command{
		Use:   "recover DATA-DIR [--into DIR --accept-data-loss]",
		Short: "Begin a new cluster with what a lost majority left",
		Long: `Recover is for a cluster that has lost a majority of its nodes for good, and so elects no
leader any more. Without --into it only shows what the data directory of a node that is left has.
Look at all that are left: the one whose log ends in the highest term has most, and of
those with the same term the one with the highest entry.

With --into it makes an empty directory that of the first node of a NEW cluster, with all
that the node has, its whole log included. Read this first:

  - What the lost nodes acknowledged without this one is LOST. It cannot be told how much:
    at most what came after the entry with which this node's log ends.
  - A write that was in flight when the cluster broke, and whose client got no answer, may
    have taken place.
  - Nodes that were lost and come back are of the old cluster: they have nothing to do with the
    new one. If a majority can still be brought back, do that instead; nothing is lost then.
  - A backup that is newer than what this node has is the better choice (turnlog restore).

The old directory keeps its data, but is marked: its node does not start any more. The new
one has the file origin.json, which says what happened; its node logs that at each start.`,
		Example: `  turnlog recover /var/lib/turnlog
  turnlog recover /var/lib/turnlog --into /var/lib/turnlog-2 --accept-data-loss --raft-addr 10.0.0.2:7381`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return r.run(args[0]) },
	}
	r.register(cmd, "into", "directory of the new cluster's first node: empty, or not there yet", "")
	cmd.Flags().BoolVar(&r.accepted, "accept-data-loss", false, "go on, though what only the lost nodes had is lost")
	cmd.Flags().BoolVar(&r.again, "again", false, "recover a directory that an earlier recovery has marked")
	return cmd
}

func (r *recovery) run(dir string) (err error) {
	if r.dir != "" && !r.accepted {
		return cli.Usagef("--into needs --accept-data-loss: what only the lost nodes had is lost; `turnlog recover " +
			"--help` says more")
	}
	log := slog.New(slog.NewTextHandler(r.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := newcluster.Survey(dir, log)
	if err != nil {
		return cli.Advise(err, "Nothing was recovered. The node must not run, and its directory must be whole.")
	}
	defer s.Close()
	if r.dir == "" {
		return r.show(s)
	}
	if s.LeftFor != "" && !r.again {
		return cli.Unchanged(turn.Errorf(turn.Exists, "%s was recovered before: %s; --again makes one more cluster "+
			"of it", dir, strings.TrimSpace(s.LeftFor)))
	}
	if r.id == "" {
		r.id = s.NodeID
	}
	ctx, stop := cli.Interruptible(context.Background())
	defer stop()
	fmt.Fprint(r.Stderr, warning(s))
	origin, err := s.Recover(ctx, r.cluster(log))
	if err != nil {
		return cli.Advise(err, noCluster)
	}
	if r.JSON {
		return r.WriteJSON(map[string]any{"data_dir": r.dir, "cluster_id": origin.NewClusterID, "origin": origin})
	}
	_, err = fmt.Fprintf(r.Stdout,
		"%s is the first node of the new cluster %s, with all that node %s had, up to log entry %d\n%s\n",
		r.dir, origin.NewClusterID, s.NodeID, origin.Index, r.next())
	return err
}

// warning says what a recovery loses.
func warning(s *newcluster.Survivor) string {
	text := fmt.Sprintf("turnlog: recovering cluster %s from node %s: its log ends at %v; "+
		"what came after that is lost\n", s.ClusterID, s.NodeID, s.End)
	if s.Lost != "" {
		text += fmt.Sprintf("turnlog: the log of node %s itself has lost %s, which is lost with it\n", s.NodeID, s.Lost)
	}
	return text
}

// show tells what a node has.
func (r *recovery) show(s *newcluster.Survivor) error {
	if r.JSON {
		return r.WriteJSON(map[string]any{"data_dir": s.Dir, "node_id": s.NodeID, "cluster_id": s.ClusterID,
			"term": s.End.Term, "index": s.End.Index, "members": s.Servers, "lost": s.Lost, "recovered": s.LeftFor})
	}
	fmt.Fprintf(r.Stdout, "node %s of cluster %s, whose members are %s\nlog ends at term %d, entry %d\n", s.NodeID,
		s.ClusterID, strings.Join(s.Servers, ", "), s.End.Term, s.End.Index)
	if s.Lost != "" {
		fmt.Fprintf(r.Stdout, "its log has lost %s: recover another node, if one is left\n", s.Lost)
	}
	if s.LeftFor != "" {
		fmt.Fprintf(r.Stdout, "recovered before: %s\n", strings.TrimSpace(s.LeftFor))
	}
	_, err := fmt.Fprintln(r.Stdout, "nothing was changed; see `turnlog recover --help` before you go on with --into")
	return err
}
