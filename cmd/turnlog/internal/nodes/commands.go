// Package nodes has the commands that run nodes: serve, which runs one until it is told to stop, and dev, which runs a
// cluster of three processes on this machine.
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
