package main

import (
	"context"
	"path/filepath"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// builds are the binaries that scenarios ask for, each built when it is first
// wanted.
type builds struct {
	dir   string
	given string // by the command line, in place of one that is built
	race  bool
	old   string            // a commit, for the scenarios with nodes of two versions
	done  map[string]string // kind → binary
}

// binary returns turnlog; with wrongClock one whose clock can be put wrong,
// which is always built from this source tree.
func (b *builds) binary(ctx context.Context, wrongClock bool) (string, error) {
	switch {
	case wrongClock:
		return b.once("clock", cluster.BuildOptions{Clock: true, Race: b.race}, ctx)
	case b.given != "":
		return b.given, nil
	}
	return b.once("plain", cluster.BuildOptions{Race: b.race}, ctx)
}

// oldBinary returns turnlog as it was at the older commit.
func (b *builds) oldBinary(ctx context.Context) (string, error) {
	if b.done["old"] == "" {
		binary, err := cluster.BuildCommit(ctx, b.old, filepath.Join(b.dir, "old"))
		if err != nil {
			return "", err
		}
		b.done["old"] = binary
	}
	return b.done["old"], nil
}

func (b *builds) once(kind string, o cluster.BuildOptions, ctx context.Context) (string, error) {
	if b.done[kind] == "" {
		o.Dir = filepath.Join(b.dir, kind)
		var err error
		if b.done[kind], err = cluster.Build(ctx, o); err != nil {
			return "", err
		}
	}
	return b.done[kind], nil
}
