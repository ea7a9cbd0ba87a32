// Package bulk has the commands that move many sessions: import and export.
package bulk

import (
	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// Commands returns them.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		importCommand(a), exportCommand(a),
	}
}
