package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// pack has deploy/build write what is made from the binaries, and returns its names: an archive of man pages and
// completions, and packages for the Linux platforms.
func (o options) pack() (names []string, err error) {
	dir, err := os.MkdirTemp("", "turnlog-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "turnlog") // which this machine can run
	if err := o.compile(program, runtime.GOOS, runtime.GOARCH); err != nil {
		return nil, err
	}
	out, err := filepath.Abs(o.out)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "run", ".", "--version", o.version, "--binaries", out, "--program", program, "--out", out,
		"--targets", strings.Join(o.targets, ","))
	cmd.Dir = filepath.Join("deploy", "build")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	return strings.Fields(string(text)), err
}
