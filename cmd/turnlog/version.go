package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// version is set by the linker: -X main.version=…
var version = "dev"

func versionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return writeVersion(a) },
	}
}

// writeVersion is also what the flag --version does.
func writeVersion(a *cli.App) error {
	if a.JSON {
		return a.WriteJSON(map[string]string{"version": a.Version, "commit": revision(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(a.Stdout, "turnlog %s (%s, %s, %s/%s)\n", a.Version, revision(), runtime.Version(),
		runtime.GOOS,
		runtime.GOARCH)
	return err
}

// revision returns the commit that the binary was built from, as far as it knows.
func revision() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "unknown commit"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return "unknown commit"
}
