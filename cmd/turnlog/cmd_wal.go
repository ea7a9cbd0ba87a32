package main

import "github.com/spf13/cobra"

func (a *app) walCommand() *cobra.Command {
	return &cobra.Command{Use: "wal", Short: "Look into a node's write-ahead log"}
}
