package trials

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/bench"
	"github.com/turnlog/turnlog/internal/bench/target"
)

// benchFlags are the flags of `turnlog bench`.
type benchFlags struct {
	target, compare string
	pids, otherPids []int
	clients         []int
	rounds          int
	fill            bool
	cfg             bench.Config
	profiles        []string
	given           func(flag string) bool // on the command line

	standard standardFlags
	trials   trialFlags
}

func (f *benchFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.target, "target", "", "what to measure (default: turnlog at --addr)")
	fs.StringVar(&f.compare, "compare", "", "another target, measured in turn with the first")
	fs.IntSliceVar(&f.pids, "pids", nil,
		"processes of the target on this machine, whose use of processors and memory is reported")
	fs.IntSliceVar(&f.otherPids, "compare-pids", nil, "the same, of the target to compare with")
	fs.IntSliceVar(&f.clients, "clients", []int{1, 16, 64, 256},
		"numbers of clients to measure with, one after the other")
	fs.DurationVar(&f.cfg.Duration, "duration", 3*time.Second, "how long each run is measured")
	fs.DurationVar(&f.cfg.WarmUp, "warm-up", f.cfg.WarmUp, "how long each run lasts before it is measured")
	fs.IntVar(&f.rounds, "rounds", 1, "runs of each kind; the table shows medians")
	fs.IntVar(&f.cfg.Sessions, "sessions", 10000, "number of sessions")
	fs.IntVar(&f.cfg.Size, "size", 512, "bytes of a message")
	fs.IntVar(&f.cfg.Last, "last", f.cfg.Last, "messages that a read asks for")
	fs.StringVar(&f.cfg.Prefix, "prefix", f.cfg.Prefix, "what the keys of the sessions begin with")
	fs.BoolVar(&f.fill, "fill", true,
		"before workloads that read, append to every session as many messages as a read asks for")
	fs.BoolVar(&f.cfg.Goroutines, "goroutines", false,
		"a goroutine for each connection, as in a service written in Go, in place of one thread for all; always if a "+
			"target has TLS")
	fs.StringSliceVar(&f.profiles, "pprof-addrs", nil,
		"--pprof-addr of the target's nodes: after each measurement, tell where they spend processor time")
}

func (f *benchFlags) check() error {
	for _, n := range f.clients {
		if n < 1 || n > 10000 {
			return cli.Usagef("--clients %d: must be 1 to 10,000", n)
		}
	}
	switch {
	case len(f.clients) == 0:
		return cli.Usagef("--clients: at least one number is needed")
	case f.cfg.Duration <= 0 || f.cfg.WarmUp < 0:
		return cli.Usagef("--duration must be positive, and --warm-up not negative")
	case f.rounds < 1:
		return cli.Usagef("--rounds must be at least 1")
	case f.cfg.Sessions < 1:
		return cli.Usagef("--sessions must be at least 1")
	case f.cfg.Size < target.MinSize:
		return cli.Usagef("--size must be at least %d", target.MinSize)
	case f.cfg.Last < 1:
		return cli.Usagef("--last must be at least 1")
	}
	return nil
}
