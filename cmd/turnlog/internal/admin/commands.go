// Package admin has the commands that operate a cluster: its members, users, certificates and logs; those that save how
// to connect to it; and those that collect what a bug report needs. Changes of the members go to the leader, over HTTP.
package admin

import (
	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// Commands returns them.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		clusterCommand(a), walCommand(a), userCommand(a), certCommand(a), debugCommand(a),
		topCommand(a), contextCommand(a),
	}
}
