// Package trials has the commands that try out a store: bench measures it, and verify checks it against the contract.
// Neither is needed to run a cluster.
package trials

import (
	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// Commands returns them.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		benchCommand(a), verifyCommand(a),
	}
}
