// Package nodes has the commands that run nodes: serve and dev.
package nodes

import (
	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// Commands returns them.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		devCommand(a), serveCommand(a),
	}
}
