package trials

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/bench"
)

// trialFlags are those of the trials of `turnlog bench`.
type trialFlags struct {
	messages         int
	interval, window time.Duration
	restart          bool
}

func (t *trialFlags) register(fs *pflag.FlagSet) {
	fs.IntVar(&t.messages, "messages", 5_000_000, "trials: number of messages to store")
	fs.DurationVar(&t.interval, "interval", 10*time.Second, "growth: length of the table's intervals")
	fs.BoolVar(&t.restart, "restart", false, "growth: kill and restart a node at the end, and replace one")
	fs.DurationVar(&t.window, "window", time.Minute, "ttl: time within which the sessions expire")
}

func trialHelp() string {
	var b strings.Builder
	for _, t := range bench.Trials() {
		fmt.Fprintf(&b, "  %-8s %s\n", t.Name, t.Help)
	}
	return b.String()
}

// findTrials separates the names of trials from others.
func findTrials(names []string) (trials []bench.Trial, others []string) {
	for _, name := range names {
		if t, ok := bench.FindTrial(name); ok {
			trials = append(trials, t)
		} else {
			others = append(others, name)
		}
	}
	return trials, others
}

func (f *benchFlags) checkTrials() error {
	switch {
	case f.trials.messages < 100:
		return cli.Usagef("--messages must be at least 100")
	case f.trials.interval <= 0 || f.trials.window <= 0:
		return cli.Usagef("--interval and --window must be positive")
	}
	return f.check()
}

// setup says how trials are held: with 64 clients and comparing states of ten
// seconds, unless flags say otherwise.
func (f *benchFlags) setup(self string, show *benchShow) *bench.Setup {
	cfg := f.cfg
	cfg.Clients = 64
	if f.given("clients") {
		cfg.Clients = f.clients[0]
	}
	if !f.given("duration") {
		cfg.Duration = 10 * time.Second
	}
	return &bench.Setup{Turnlog: self, Dir: f.standard.dir, Config: cfg, Messages: f.trials.messages,
		Interval: f.trials.interval,
		Window:   f.trials.window, Restart: f.trials.restart, Say: show.say, Begin: show.watch}
}
