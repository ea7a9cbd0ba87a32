package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/bench"
)

// standardFlags are those of `turnlog bench --standard`.
type standardFlags struct {
	on, quick bool
	write     string
	dir       string
	redis     string
	commit    string
}

func (s *standardFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&s.on, "standard", false, "the standard comparison, of servers that bench starts itself: 1, 16, 64 and 256 clients, five rounds, a quarter of an hour")
	fs.BoolVar(&s.quick, "quick", false, "with --standard: one short round, a minute")
	fs.StringVar(&s.write, "write", "", "with --standard: write the report to this Markdown file")
	fs.StringVar(&s.dir, "dir", "", "with --standard: directory on the disk to measure (default: the system's for temporary files)")
	fs.StringVar(&s.redis, "redis-server", "", "with --standard: the redis-server to compare with (default: the one in PATH)")
	fs.StringVar(&s.commit, "commit", "", "with --standard: what to call the measured version (default: that of this binary)")
}

// benchStandard runs the standard comparison. Flags for single runs that were
// not changed have values of its own.
func (a *app) benchStandard(ctx context.Context, f *benchFlags, args []string) error {
	if len(args) > 0 {
		return usagef("--standard has its own workloads; leave out %q", args)
	}
	if f.rounds == 1 && !f.standard.quick {
		f.rounds = 5
	}
	if f.standard.quick {
		f.cfg.Duration, f.cfg.WarmUp = time.Second, 300*time.Millisecond
	}
	if err := f.check(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	show := newBenchShow(a)
	defer show.close()
	b := bench.Standard{Turnlog: self, Redis: f.standard.redis, Dir: f.standard.dir, Clients: f.clients, Rounds: f.rounds,
		Config: f.cfg, Begin: show.begin, Done: show.done, Say: show.say}
	r := bench.Report{
		Date: time.Now(), Version: version, Command: "turnlog " + strings.Join(os.Args[1:], " "),
		Machine: bench.DescribeMachine(f.standard.dir), Rounds: f.rounds, Config: f.cfg,
	}
	if f.standard.commit != "" {
		r.Version = f.standard.commit
	}
	show.say(fmt.Sprintf("the standard comparison takes about %s", (b.Estimate() + 15*time.Second).Round(time.Second)))
	if r.Series, err = b.Run(ctx); err != nil {
		return err
	}
	r.Verdicts = bench.Judge(r.Series)
	if f.standard.write != "" {
		if err := writeReport(f.standard.write, &r); err != nil {
			return err
		}
	}
	return show.report(&r)
}

// writeReport replaces the file by the report.
func writeReport(name string, r *bench.Report) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".bench-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := r.Markdown(f); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
