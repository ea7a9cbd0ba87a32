// Package session has the commands that work with one session, or list them, a file each. They connect as any client
// does, through package client, and retry under ids as it does.
package session

import (
	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// Commands returns them.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		appendCommand(a), readCommand(a), tailCommand(a), sessionsCommand(a), infoCommand(a),
		metaCommand(a), hashCommand(a), editCommand(a), removeCommand(a), popCommand(a), trimCommand(a),
		clearCommand(a), expireCommand(a), retainCommand(a),
		forkCommand(a), renameCommand(a), rmCommand(a),
	}
}
