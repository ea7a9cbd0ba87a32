// Package backups has the commands that back up a cluster and verify backups, and those that begin a new cluster with a
// backup, or with the data of one node of a cluster that has lost its majority.
package backups

import (
	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// Commands returns them.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{backupCommand(a), restoreCommand(a), recoverCommand(a)}
}
