package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker: -X main.version=…
var version = "dev"

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return a.writeVersion() },
	}
}

// writeVersion is also what the flag --version does.
func (a *app) writeVersion() error {
	if a.json {
		return a.writeJSON(map[string]string{"version": a.version, "commit": revision(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(a.stdout, "turnlog %s (%s, %s, %s/%s)\n", a.version, revision(), runtime.Version(), runtime.GOOS,
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
