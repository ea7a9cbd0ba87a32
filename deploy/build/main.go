// Build packs what operators install, from the binaries of a release: an archive of man pages and completions,
// and a Debian package and a container image for each Linux platform. It is a module of its own, so that what
// it is built of stays out of turnlog's go.mod. `make release` runs it. The same binaries give the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A release is what is packed.
type release struct {
	version  string
	binaries string // the directory of turnlog-VERSION-OS-ARCH
	program  string // turnlog for this machine, which prints its man pages and completions
	deploy   string // this repository's deploy
	out      string

	share string // a directory of man pages and completions
}

// packed is the time of all packed files: a time that differed would be another content.
func packed() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }

func main() {
	r := release{deploy: ".."}
	flag.StringVar(&r.version, "version", "", "the release's version, as in the names of the binaries")
	flag.StringVar(&r.binaries, "binaries", "", "directory of the binaries")
	flag.StringVar(&r.program, "program", "", "turnlog for this machine")
	flag.StringVar(&r.out, "out", "", "directory for the packages")
	targets := flag.String("targets", "linux/amd64,linux/arm64", "platforms, separated by commas")
	flag.Parse()
	if err := r.run(strings.Split(*targets, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// run packs everything, and prints the names of the files that it made.
func (r release) run(targets []string) (err error) {
	if r.share, err = os.MkdirTemp("", "turnlog-share-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.share)
	if err := r.writeShare(); err != nil {
		return err
	}
	archive := "turnlog-" + r.version + "-share.tar.gz"
	if err := archiveFiles(r.share, filepath.Join(r.out, archive)); err != nil {
		return err
	}
	fmt.Println(archive)
	for _, target := range targets {
		goos, arch, _ := strings.Cut(target, "/")
		if goos != "linux" {
			continue
		}
		if err := r.pack(arch); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	return nil
}

// pack packs one platform.
func (r release) pack(arch string) error {
	binary := filepath.Join(r.binaries, "turnlog-"+r.version+"-linux-"+arch)
	for _, pack := range []func(binary, arch string) (name string, err error){r.debian, r.image} {
		name, err := pack(binary, arch)
		if err != nil {
			return err
		}
		fmt.Println(name)
	}
	return nil
}
