package main

import (
	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/manpage"
)

// manPagesCommand is hidden: releases and packages are made with it.
func manPagesCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    "man-pages DIR",
		Short:  "Write the manual pages into a directory",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return manpage.Write(cmd.Root(), args[0], a.Version)
		},
	}
}
