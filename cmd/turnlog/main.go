// Command turnlog runs a node, a whole cluster for development, and every
// operation on sessions from the command line.
package main

import (
	"os"

	"github.com/spf13/cobra"
)

func main() {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	os.Exit(a.run(os.Args[1:]))
}

// root is the table of contents.
func (a *app) root() *cobra.Command {
	root := a.rootCommand()
	root.AddGroup(
		&cobra.Group{ID: "node", Title: "Run nodes:"},
		&cobra.Group{ID: "session", Title: "Work with sessions:"},
		&cobra.Group{ID: "bulk", Title: "Move data:"},
		&cobra.Group{ID: "admin", Title: "Operate a cluster:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("node", a.devCommand(), a.serveCommand())
	add("session", a.appendCommand(), a.readCommand(), a.tailCommand(), a.sessionsCommand(), a.infoCommand(),
		a.metaCommand(), a.hashCommand(),
		a.popCommand(), a.trimCommand(), a.clearCommand(), a.expireCommand(), a.forkCommand(), a.rmCommand())
	add("bulk", a.importCommand(), a.exportCommand())
	add("admin", a.clusterCommand(), a.walCommand(), a.benchCommand(), a.verifyCommand(), a.userCommand(),
		a.certCommand())
	root.AddCommand(a.versionCommand(), a.verifyWriterCommand())
	a.noteStart(root)
	return root
}
