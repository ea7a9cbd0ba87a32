package admin

import (
	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

func clusterCommand(a *cli.App) *cobra.Command {
	cmd := cli.ParentCommand("cluster", "Show and change the cluster")
	cmd.AddCommand(clusterStatusCommand(a), clusterHealthCommand(a), clusterChecksumCommand(a),
		clusterTransferCommand(a), clusterJoinCommand(a), clusterRemoveCommand(a), clusterReplaceCommand(a),
		clusterPromoteCommand(a), clusterDemoteCommand(a), clusterUpgradeCommand(a))
	return cmd
}
