package admin

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func clusterHealthCommand(a *cli.App) *cobra.Command {
	serving := false
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Show the health of the cluster in one line, with an exit status for scripts",
		Long: `Health asks each node in --addr, and reports the view of one that sees a working leader;
if none does, it asks the nodes that these know, too. It prints one line:

  healthy      every member can be reached and is well
  degraded     requests are served, but something is wrong: a member that cannot be
               reached, is damaged, or is more than 10 s behind the leader
  read_only    reads are served; writes that need space are rejected
  unavailable  no majority confirms a leader, or no node answers

It ends with 0 if the cluster is healthy, else with 1; with --serving, with 0 also if
it is degraded. With 2 or 5 it ends if no node was asked: the command line, or the selected
context, cannot be used. It waits 3 s for each node, or --timeout.`,
		Example: `  turnlog cluster health --addr 127.0.0.1:7379,127.0.0.1:7389,127.0.0.1:7399
  turnlog cluster health --serving && echo "can be used"`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.ContextErr(); turn.KindOf(err) == turn.NotFound {
				return err
			} else if err != nil {
				return cli.Usage(err)
			}
			cl, err := bestView(a)
			switch turn.KindOf(err) {
			case turn.Unauthorized, turn.Forbidden: // tells of who asks, not of the cluster
				return err
			}
			if cli.IsUsage(err) {
				return err
			}
			h := cl.Health()
			if err != nil {
				h = turn.Health{Status: turn.NotServing, Reasons: []string{"no node answers: " + err.Error()}}
			}
			if a.JSON {
				err = a.WriteJSON(h)
			} else {
				_, err = fmt.Fprintln(a.Stdout, healthLines(cl, h, "; "))
			}
			if err != nil || h.Status == turn.Healthy || serving && h.Status == turn.Degraded {
				return err
			}
			return cli.ErrTold
		},
	}
	cmd.Flags().BoolVar(&serving, "serving", false, "end with 0 if requests are served, though something is wrong")
	return cmd
}
