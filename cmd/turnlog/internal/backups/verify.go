package backups

import (
	"errors"
	"fmt"
	"io"
	"os"
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
	return &cobra.Command{
		Use:   "verify (FILE | FOLDER | -)…",
		Short: "Read whole backups, and hold every byte against its checksum; needs no node",
		Long: `Verify reads backups as a restore would: every checksum, every pair of the state, every
message block. It ends with 1 if one is damaged, cut short, or no backup, and names it; all
others are still read. Of a folder, it verifies all backups.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			paths, err := expand(args)
			if err != nil {
				return err
			}
			var errs []error
			for _, path := range paths {
				if err := verifyOne(a, path); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", path, err))
				}
			}
			return errors.Join(errs...)
		},
	}
}

// expand replaces folders by the backups in them.
func expand(args []string) (paths []string, err error) {
	for _, arg := range args {
		if arg == "-" || !isFolder(arg) {
			paths = append(paths, arg)
			continue
		}
		all, err := backup.List(arg)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, turn.Errorf(turn.NotFound, "the folder %s has no backups", arg)
		}
		for _, e := range all {
			paths = append(paths, e.Path)
		}
	}
	return paths, nil
}

func verifyOne(a *cli.App, path string) error {
	in, size, err := open(a, path)
	if err != nil {
		return err
	}
	defer in.Close()
	counted := cli.NewCountingReader(in)
	progress := cli.StartProgress(a.Stderr, "verify",
		cli.ProgressOf{Total: size, At: counted.Count, Unit: "MiB",
			Items: func() int64 { return counted.Count() >> 20 }})
	d, s, err := backup.Verify(counted)
	if err != nil {
		progress.Finish("failed")
		return err
	}
	progress.Finish(fmt.Sprintf("%d MiB", counted.Count()>>20))
	if a.JSON {
		return a.WriteJSON(verified{path, d, counted.Count(), s})
	}
	_, err = fmt.Fprintf(a.Stdout, "sound: %s: %s\n", path, summary(&d, &s, counted.Count()))
	return err
}

// open opens a backup, and returns its size, 0 if that is not known.
func open(a *cli.App, path string) (io.ReadCloser, int64, error) {
	if path == "-" {
		return io.NopCloser(a.Stdin), 0, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, cli.Usage(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func listCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list FOLDER",
		Short: "List the backups in a folder, oldest first; needs no node",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := backup.List(args[0])
			if err != nil {
				return err
			}
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
}
