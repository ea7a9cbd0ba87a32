package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// A tree is a version of the repository, with the test binaries that were built of it.
type tree struct {
	dir      string
	binaries []binary
	results  *os.File
}

type binary struct {
	file, dir, benchmarks string
}

func run(o options) ([]change, error) {
	tmp, err := os.MkdirTemp("", "benchgate-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	trees := []*tree{{dir: filepath.Join(tmp, "base")}, {dir: root}}
	if err := checkOut(o.base, trees[0].dir); err != nil {
		return nil, err
	}
	for i, t := range trees {
		if err := t.build(filepath.Join(tmp, strconv.Itoa(i))); err != nil {
			return nil, err
		}
		defer func() { _ = t.results.Close() }()
	}
	for round := range o.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, o.rounds)
		for i := range trees { // the other one first in each round
			if err := trees[(i+round)%2].bench(o); err != nil {
				return nil, err
			}
		}
	}
	return compare(o, trees[0].results.Name(), trees[1].results.Name())
}

func checkOut(commit, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	archive := exec.Command("git", "archive", "--format=tar", commit)
	tar := exec.Command("tar", "-x", "-C", dir)
	archive.Stderr, tar.Stderr = os.Stderr, os.Stderr
	var err error
	if tar.Stdin, err = archive.StdoutPipe(); err != nil {
		return err
	}
	if err := archive.Start(); err != nil {
		return err
	}
	return errors.Join(tar.Run(), archive.Wait())
}

// build builds the test binaries of the suites that the tree has.
func (t *tree) build(out string) (err error) {
	for i, s := range hotPath {
		for _, dir := range s.dirs {
			if _, err := os.Stat(filepath.Join(t.dir, dir)); err != nil {
				continue
			}
			b := binary{fmt.Sprintf("%s-%d.test", out, i), filepath.Join(t.dir, dir), s.benchmarks}
			cmd := exec.Command("go", "test", "-c", "-o", b.file, "./"+dir)
			cmd.Dir, cmd.Stderr = t.dir, os.Stderr
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("build the tests of %s: %w", b.dir, err)
			}
			t.binaries = append(t.binaries, b)
			break
		}
	}
	t.results, err = os.Create(out + ".txt")
	return err
}

// bench runs each benchmark once and keeps its results.
func (t *tree) bench(o options) error {
	for _, b := range t.binaries {
		cmd := exec.Command(b.file, "-test.run=^$", "-test.bench="+b.benchmarks, "-test.benchmem",
			"-test.benchtime="+o.benchtime.String())
		cmd.Dir, cmd.Stderr = b.dir, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", b.dir, err, out)
		}
		if _, err := t.results.Write(withoutPackage(out)); err != nil {
			return err
		}
	}
	return nil
}

// compare asks benchstat; its table for people goes to stdout.
func compare(o options, base, head string) ([]change, error) {
	args := []string{"run", o.benchstat}
	show := exec.Command("go", append(args, "before="+base, "after="+head)...)
	show.Stdout, show.Stderr = os.Stdout, os.Stderr
	if err := show.Run(); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", append(args, "-format", "csv", "before="+base, "after="+head)...)
	cmd.Stderr = io.Discard // the warnings that the table had
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	return slower(string(out), o.ratio)
}
