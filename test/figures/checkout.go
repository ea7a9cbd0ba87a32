package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// checkOut copies a commit to a temporary directory, and returns its short name, too.
func checkOut(commit string) (dir, short string, remove func(), err error) {
	out, err := exec.Command("git", "rev-parse", "--short", "--verify", "--end-of-options", commit+"^{commit}").Output()
	if err != nil {
		return "", "", nil, fmt.Errorf("neither a directory nor a commit: %w", said(err))
	}
	short = strings.TrimSpace(string(out))
	if dir, err = os.MkdirTemp("", "figures-"); err != nil {
		return "", "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	archive, err := exec.Command("git", "archive", short).Output()
	if err == nil {
		tar := exec.Command("tar", "-x", "-C", dir)
		tar.Stdin, tar.Stderr = bytes.NewReader(archive), os.Stderr
		err = tar.Run()
	}
	if err != nil {
		remove()
		return "", "", nil, said(err)
	}
	return dir, short, remove, nil
}

// said adds to an error what the command said on stderr.
func said(err error) error {
	if e, ok := err.(*exec.ExitError); ok && len(e.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(e.Stderr))
	}
	return err
}
