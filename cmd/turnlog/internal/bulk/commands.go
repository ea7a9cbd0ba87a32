// Package bulk has the commands that move many sessions: import and export, from and to files and Redis.
//
// Both can be run again after an interruption: messages are appended under ids, so that what is there already is
// recognised and not stored twice.
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
