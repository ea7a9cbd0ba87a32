// Release builds what a release consists of, into a directory: a static binary for each platform, the
// modules in each of them (an SBOM in CycloneDX's format), man pages and shell completions, a Debian package
// and a container image for each Linux platform, their checksums, and the notes from CHANGELOG.md. The same
// commit and toolchain give the same bytes, wherever they are built.
//
//	go run ./test/release --version v0.1.0 --out dist
//
// With --only-binaries it leaves out what is packed from them. With --set-version it only writes the version
// into the files of all packages.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

type options struct {
	version string
	out     string
	targets []string

	onlyBinaries bool
}

func main() {
	var o options
	flag.StringVar(&o.version, "version", "dev", "the release's version")
	flag.StringVar(&o.out, "out", "dist", "directory for the files, which must not exist")
	targets := flag.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64",
		"platforms, separated by commas")
	flag.BoolVar(&o.onlyBinaries, "only-binaries", false, "no man pages, completions and packages")
	set := flag.String("set-version", "", "write this version, as 0.1.0, into VERSION and the files of packages")
	flag.Parse()
	o.targets = strings.Split(*targets, ",")
	err := setOrRun(*set, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func setOrRun(version string, o options) error {
	if version != "" {
		return setVersion(".", version)
	}
	if err := checkVersion(".", o.version); err != nil {
		return err
	}
	return run(o)
}

func run(o options) error {
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	notes, err := notesOf(string(changelog), o.version)
	if err != nil {
		return err
	}
	if err := os.Mkdir(o.out, 0o755); err != nil {
		return err
	}
	names := []string{"NOTES.md"}
	if err := os.WriteFile(filepath.Join(o.out, names[0]), []byte(notes), 0o644); err != nil {
		return err
	}
	for _, target := range o.targets {
		files, err := o.build(target)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		names = append(names, files...)
	}
	if !o.onlyBinaries {
		files, err := o.pack()
		if err != nil {
			return err
		}
		names = append(names, files...)
	}
	return sum(o.out, names)
}

// sum writes the checksums, as sha256sum -c reads them.
func sum(dir string, names []string) error {
	var b strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(b.String()), 0o644)
}
