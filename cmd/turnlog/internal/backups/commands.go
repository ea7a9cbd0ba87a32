// Package backups has the commands that back up a cluster, verify backups, and begin a new cluster with one,
// or with what a lost majority left.
package backups

import (
	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// Commands returns them.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{backupCommand(a), restoreCommand(a), recoverCommand(a)}
}
