// Package trials has the commands that try a store: bench measures it, verify holds it to the contract.
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
