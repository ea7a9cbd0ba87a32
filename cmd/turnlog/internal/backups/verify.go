package backups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/backup"
	"github.com/turnlog/turnlog/turn"
)

// verified is what verify says of a backup to programs.
type verified struct {
	Path string `json:"path"`
	backup.Description
	Size  int64          `json:"size"`
	Holds backup.Summary `json:"holds"`
}

func verifyCommand(a *cli.App) *cobra.Command {
	at := &location{App: a}
	cmd := &cobra.Command{
		Use:   "verify (FILE | FOLDER | s3://BUCKET/PREFIX | -)…",
		Short: "Read whole backups, and hold every byte against its checksum; needs no node",
		Long: `Verify reads backups as a restore would: every checksum, every pair of the state, every
message block. It ends with 1 if one is damaged, cut short, or no backup, and names it; all
others are still read. Of a folder or bucket, it verifies all backups.

` + aboutS3,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ctx, stop := cli.Interruptible(context.Background())
			defer stop()
			all, err := at.expand(ctx, args)
			if err != nil {
				return err
			}
			var errs []error
			for _, o := range all {
				if err := at.verify(ctx, o); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", o.path, err))
				}
			}
			return errors.Join(errs...)
		},
	}
	at.register(cmd)
	return cmd
}

// expand replaces folders and buckets by the backups in them.
func (l *location) expand(ctx context.Context, args []string) (all []one, err error) {
	for _, arg := range args {
		if arg == "-" || !isMany(arg) {
			o, err := l.one(arg)
			if err != nil {
				return nil, err
			}
			all = append(all, o)
			continue
		}
		s, err := l.storage(arg)
		if err != nil {
			return nil, err
		}
		entries, err := backup.List(ctx, s)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			return nil, cli.Unchanged(turn.Errorf(turn.NotFound, "%s has no backups", arg))
		}
		for _, e := range entries {
			all = append(all, one{s, e.Name, e.Path})
		}
	}
	return all, nil
}

func (l *location) verify(ctx context.Context, o one) error {
	a := l.App
	r, err := l.open(ctx, o)
	if err != nil {
		return err
	}
	defer r.Close()
	progress := l.progress("verify", r)
	d, s, err := r.Verify()
	if err != nil {
		progress.Finish("failed")
		return err
	}
	progress.Finish(fmt.Sprintf("%d MiB", r.Brought()>>20))
	if a.JSON {
		return a.WriteJSON(verified{o.path, d, r.FileBytes(), s})
	}
	_, err = fmt.Fprintf(a.Stdout, "sound: %s: %s\n", o.path, summary(&d, &s, r.FileBytes()))
	return err
}

func listCommand(a *cli.App) *cobra.Command {
	at := &location{App: a}
	cmd := &cobra.Command{
		Use:   "list (FOLDER | s3://BUCKET/PREFIX)",
		Short: "List the backups in a folder or bucket, oldest first; needs no node",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ctx, stop := cli.Interruptible(context.Background())
			defer stop()
			s, err := at.storage(args[0])
			if err != nil {
				return err
			}
			all, err := backup.List(ctx, s)
			if err != nil {
				return err
			}
			slices.SortStableFunc(all, func(a, b backup.Entry) int {
				return a.Description.Created.Compare(b.Description.Created)
			})
			rows := [][]string{{"CREATED", "LOG ENTRY", "CLUSTER", "NODE", "BYTES", "FILE"}}
			var errs []error
			for _, e := range all {
				d := &e.Description
				if e.Err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", e.Path, e.Err))
					continue
				}
				if a.JSON {
					if err := a.WriteJSON(map[string]any{"path": e.Path, "size": e.Size, "id": d.ID,
						"created": d.Created, "index": d.Index, "cluster_id": d.ClusterID,
						"node_id": d.NodeID}); err != nil {
						return err
					}
				}
				rows = append(rows, []string{d.Created.Format(time.RFC3339), fmt.Sprint(d.Index),
					cli.Printable([]byte(d.ClusterID)), cli.Printable([]byte(d.NodeID)), fmt.Sprint(e.Size), e.Path})
			}
			if !a.JSON {
				errs = append(errs, a.Table(rows))
			}
			return errors.Join(errs...)
		},
	}
	at.register(cmd)
	return cmd
}
