package trials

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/bench"
	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/target"
)

func benchCommand(a *cli.App) *cobra.Command {
	f := benchFlags{cfg: bench.Config{WarmUp: 500 * time.Millisecond, Last: 20, Prefix: "bench-", Seed: 1}}
	cmd := &cobra.Command{
		Use:   "bench [WORKLOAD...] | [TRIAL...]",
		Short: "Measure turnlog or any Redis server",
		Long: `Bench measures throughput and latency in a closed loop: each client has one
connection and sends a request when it has the answer to the last one.

Workloads:
` + workloadHelp() + `
Trials, each on three nodes that bench starts on this machine:
` + trialHelp() + `
Targets of workloads:
  turnlog://HOST:PORT[,HOST:PORT...][/NAMESPACE]    TURN.* commands, with message ids
  redis://[USER:PASSWORD@]HOST:PORT[/DB][?wait=N]   RPUSH and LRANGE, of Redis or of turnlog
  rediss://…                                        the same, with TLS (SSL_CERT_FILE names another authority)
  http://HOST:PORT[/NAMESPACE]                      turnlog's HTTP API

With --compare, two targets are measured in alternating rounds. Messages stay in
the target: the keys begin with --prefix.

With --standard, bench starts three nodes of turnlog, redis-server and, with
--etcd, three nodes of etcd itself, on this machine, and compares them with the
goals of the project. Trials that are named beside it follow.`,
		Example: `  turnlog bench append read chat --clients 1,64
  turnlog bench append --target turnlog://127.0.0.1:7379 --compare 'redis://127.0.0.1:6379?wait=1'
  turnlog bench --standard --quick
  turnlog bench growth --messages 1000000 --restart`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := cli.Interruptible(context.Background())
			defer stop()
			f.given = cmd.Flags().Changed
			trials, workloads := findTrials(args)
			switch {
			case len(trials) > 0 && len(workloads) > 0:
				return cli.Usagef("%s is a trial and %q is a workload; run them one after the other", trials[0].Name,
					workloads[0])
			case f.standard.on && len(workloads) > 0:
				return cli.Usagef("--standard has its own workloads; leave out %q", workloads)
			case f.standard.on || len(trials) > 0:
				return benchServers(a, ctx, &f, trials)
			}
			return benchTargets(a, ctx, &f, workloads)
		},
	}
	f.register(cmd)
	f.standard.register(cmd.Flags())
	f.trials.register(cmd.Flags())
	return cmd
}

func workloadHelp() string {
	var b strings.Builder
	for _, w := range bench.Workloads() {
		fmt.Fprintf(&b, "  %-8s %s\n", w.Name, w.Help)
	}
	return b.String()
}

// benchTargets measures one target, or two in turn.
func benchTargets(a *cli.App, ctx context.Context, f *benchFlags, names []string) error {
	if len(names) == 0 {
		return cli.Usagef("a workload is needed, or --standard; `turnlog help bench` lists them")
	}
	if err := f.check(); err != nil {
		return err
	}
	targets, err := benchTargetsOf(a, f)
	if err != nil {
		return cli.Usage(err)
	}
	for _, t := range targets { // what is compared is driven in the same way
		f.cfg.Goroutines = f.cfg.Goroutines || t.TLS
	}
	var workloads []bench.Workload
	reads := false
	for _, name := range names {
		w, err := bench.FindWorkload(name)
		if err != nil {
			return cli.Usage(err)
		}
		reads = reads || w.Reads
		workloads = append(workloads, w)
	}
	show := newBenchShow(a)
	defer show.close()
	if reads && f.fill {
		for _, t := range targets {
			show.say(fmt.Sprintf("filling %d sessions of %s", f.cfg.Sessions, t.Name))
			cfg := f.cfg
			cfg.Clients = 16
			if err := bench.Fill(ctx, t, cfg, cfg.Last, new(generator.Live)); err != nil {
				return err
			}
		}
	}
	var all []*bench.Series
	for _, w := range workloads {
		for _, n := range f.clients {
			c := bench.Contest{Workload: w, Config: f.cfg, Rounds: f.rounds, Begin: show.begin}
			c.Config.Clients = n
			for _, t := range targets {
				c.Contestants = append(c.Contestants, bench.Fixed(t))
			}
			s, err := c.Hold(ctx)
			if err != nil {
				return err
			}
			show.done(s)
			all = append(all, s)
		}
	}
	if len(f.profiles) == 0 {
		return show.table(all)
	}
	profiles, err := benchProfiles(a, ctx, f, workloads, targets[0], show)
	if err != nil {
		return err
	}
	return show.report(&bench.Report{Config: f.cfg, Series: all, Profiles: profiles})
}

// benchProfiles profiles the nodes of a target under each workload.
func benchProfiles(a *cli.App, ctx context.Context, f *benchFlags, workloads []bench.Workload, t target.Target,
	show *benchShow) ([]*bench.Profile, error) {
	t.Profiles = f.profiles
	var all []*bench.Profile
	for _, w := range workloads {
		for _, n := range f.clients {
			cfg, live := f.cfg, new(generator.Live)
			cfg.Clients = n
			show.watch(fmt.Sprintf("profiling %s with %s", w.Name, cli.Plural(n, "client")), live)
			p, err := bench.Profiled(ctx, t, w, cfg, live)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	return all, nil
}

func benchTargetsOf(a *cli.App, f *benchFlags) ([]target.Target, error) {
	url := f.target
	if url == "" {
		if err := a.ContextErr(); err != nil {
			return nil, err
		}
		url = "turnlog://" + a.Addr + "/" + a.Namespace
	}
	t, err := target.Parse(url)
	if err != nil {
		return nil, err
	}
	t.Processes = f.pids
	if f.compare == "" {
		return []target.Target{t}, nil
	}
	other, err := target.Parse(f.compare)
	other.Processes = f.otherPids
	if other.Name == t.Name {
		other.Name += " (again)"
	}
	return []target.Target{t, other}, err
}
