package trials

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/bench"
)

// standardFlags are those of `turnlog bench` with servers of its own.
type standardFlags struct {
	on, quick, profile bool
	write              string
	dir                string
	redis              string
	etcd               string
	commit             string
}

func (s *standardFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&s.on, "standard", false,
		"the standard comparison, of servers that bench starts itself: 1, 16, 64 and 256 clients, five rounds of 5 "+
			"s, half an hour")
	fs.BoolVar(&s.quick, "quick", false, "with --standard: one short round, a minute")
	fs.BoolVar(&s.profile, "profile", false,
		"with --standard: tell, too, where the nodes of turnlog spend processor time")
	fs.StringVar(&s.write, "write", "", "with --standard or trials: write the report to this Markdown file")
	fs.StringVar(&s.dir, "dir", "",
		"with --standard or trials: directory on the disk to measure (default: the system's for temporary files)")
	fs.StringVar(&s.redis, "redis-server", "",
		"with --standard: the redis-server to compare with (default: the one in PATH)")
	fs.StringVar(&s.etcd, "etcd", "",
		"with --standard: compare with the etcd in PATH, too, by this program, which is built from internal/bench/etcd")
	fs.StringVar(&s.commit, "commit", "",
		"with --standard or trials: what to call the measured version (default: that of this binary)")
}

// benchServers runs the standard comparison, if it is wanted, and trials, with
// servers that it starts.
func benchServers(a *cli.App, ctx context.Context, f *benchFlags, trials []bench.Trial) error {
	if err := f.checkTrials(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	show := newBenchShow(a)
	defer show.close()
	r := bench.Report{
		Date: time.Now(), Version: a.Version, Command: "turnlog " + strings.Join(os.Args[1:], " "),
		Machine: bench.DescribeMachine(f.standard.dir),
	}
	if f.standard.commit != "" {
		r.Version = f.standard.commit
	}
	if f.standard.on {
		if err := benchStandard(a, ctx, f, self, show, &r); err != nil {
			return err
		}
	}
	for _, t := range trials {
		found, err := t.Hold(ctx, f.setup(self, show))
		if err != nil {
			return err
		}
		r.Findings = append(r.Findings, found)
		r.Verdicts = append(r.Verdicts, found.Verdicts...)
	}
	if !f.standard.on {
		r.Config = f.setup(self, show).Config
	}
	if f.standard.write != "" {
		if err := writeReport(f.standard.write, &r); err != nil {
			return err
		}
	}
	return show.report(&r)
}

// benchStandard runs the standard comparison. Flags for single runs that were
// not given have values of its own.
func benchStandard(a *cli.App, ctx context.Context, f *benchFlags, self string, show *benchShow,
	r *bench.Report) (err error) {
	cfg, rounds := f.cfg, f.rounds
	wanted, warmUp := 5*time.Second, time.Second
	if f.standard.quick {
		wanted, warmUp = time.Second, 300*time.Millisecond
	} else if !f.given("rounds") {
		rounds = 5
	}
	if !f.given("duration") {
		cfg.Duration = wanted
	}
	if !f.given("warm-up") {
		cfg.WarmUp = warmUp
	}
	b := bench.Standard{Turnlog: self, Redis: f.standard.redis, Etcd: f.standard.etcd, Dir: f.standard.dir,
		Clients: f.clients, Rounds: rounds,
		Config: cfg, Profile: f.standard.profile, Begin: show.begin, Done: show.done, Say: show.say}
	show.say(fmt.Sprintf("the standard comparison takes about %s", (b.Estimate() + 15*time.Second).Round(time.Second)))
	r.Rounds, r.Config = rounds, cfg
	if r.Series, r.Profiles, err = b.Run(ctx); err != nil {
		return err
	}
	r.Verdicts, r.Others = bench.Judge(r.Series), b.Versions()
	return nil
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
