package main

import (
	"context"
	"fmt"
	"os"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/report"
)

// one runs a scenario, with what the seed adds to it, and returns its report and its directory.
func (a *arguments) one(ctx context.Context, s Scenario, seed uint64, b *builds) (*report.Report, string, error) {
	s = a.separate(a.secure(a.mix(s, seed), seed), seed)
	if err := a.provide(ctx, b, s); err != nil {
		return nil, "", err
	}
	command := a.command(s, seed)
	fmt.Printf("----  %s: %s\n      %s\n", s.Name, s.About, command)
	o := options{ports: a.ports, old: a.oldBinary, seed: seed, binary: a.binary,
		out: a.out, keepData: a.keep, draw: a.pictures, commit: cluster.Commit(ctx),
		say: func(format string, args ...any) { fmt.Printf("      "+format+"\n", args...) }}
	r, dir, err := execute(ctx, s, o, command)
	if err != nil {
		return nil, dir, fmt.Errorf("%s: %w", s.Name, err)
	}
	r.Print(os.Stdout)
	fmt.Printf("      %s\n", dir)
	a.totals.add(r)
	return r, dir, nil
}

// provide has the binaries ready that the scenario asks for.
func (a *arguments) provide(ctx context.Context, b *builds, s Scenario) (err error) {
	if a.binary, err = b.binary(ctx, s.Clocks); err == nil && (s.Upgrade || s.Mixed) && a.oldBinary == "" {
		a.oldBinary, err = b.oldBinary(ctx)
	}
	return err
}

// command is the command line that repeats a run.
func (a *arguments) command(s Scenario, seed uint64) string {
	c := fmt.Sprintf("go run ./cluster-test --scenario %s --seed %d", s.Name, seed)
	if usual, _ := scenario(s.Name); a.time > 0 || s.Time != usual.Time {
		c += fmt.Sprintf(" --time %s", s.Time)
	}
	if a.nodes > 0 {
		c += fmt.Sprintf(" --nodes %d", a.nodes)
	}
	if a.nemesis != "" {
		c += " --nemesis " + a.nemesis
	}
	if a.workloads != "" {
		c += " --workload " + a.workloads
	}
	if a.rate > 0 {
		c += fmt.Sprintf(" --rate %d", a.rate)
	}
	if a.race {
		c += " --race"
	}
	if s.Namespaces {
		c += " --network " + netns
	}
	if s.Mixed {
		c += " --mix " + yes
	}
	if s.Secure {
		c += " --secure " + yes
	}
	if (s.Upgrade || s.Mixed) && a.old != oldCommit {
		c += " --old-commit " + a.old
	}
	return c
}
