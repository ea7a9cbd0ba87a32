package nodes

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

func devCommand(a *cli.App) *cobra.Command {
	d := &devCluster{out: a.Stdout}
	cmd := &cobra.Command{
		Use:   "dev [-- SERVE-FLAGS...]",
		Short: "Run a cluster of three nodes on this machine",
		Long: `Dev starts three real "turnlog serve" processes on loopback, prints where to connect,
and stops them on Ctrl-C. Their data and logs stay in --data-dir between runs.

Dev restarts nothing by itself: kill a node, and see the others continue.`,
		Example: `  turnlog dev
  turnlog dev --nodes 1 --port-base 9379 --data-dir /tmp/one
  turnlog dev -- --log-level debug`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return cli.Usagef("unexpected argument %q; flags for the nodes follow after --", args[0])
			}
			if d.count != 1 && d.count != 3 && d.count != 5 {
				return cli.Usagef("--nodes must be 1, 3 or 5")
			}
			if d.base < 1 || d.base+10*d.count > 65535 {
				return cli.Usagef("--port-base %d: ports from there to %d are needed", d.base, d.base+10*d.count)
			}
			d.extra = args
			ctx, stop := cli.Interruptible(context.Background())
			defer stop()
			return d.run(ctx)
		},
	}
	cmd.Flags().StringVar(&d.dir, "data-dir", ".turnlog-dev", "directory for data and logs of the nodes")
	cmd.Flags().IntVar(&d.count, "nodes", 3, "how many nodes: 1, 3 or 5")
	cmd.Flags().IntVar(&d.base, "port-base", 7379,
		"RESP port of the first node; HTTP and node-to-node are the next two, the next node is 10 further")
	return cmd
}
