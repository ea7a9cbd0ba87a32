package trials

import (
	"fmt"
	"sync"
	"time"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/internal/bench"
	"github.com/turnlog/turnlog/internal/bench/generator"
)

// benchShow shows a benchmark while it runs, on the stream for errors: a line
// that changes on a terminal, else a line for each step. Its results go to the
// stream for output, in the end.
type benchShow struct {
	app      *cli.App
	terminal bool

	mu    sync.Mutex
	what  string // is being measured
	live  *generator.Live
	since time.Time
	last  uint64 // operations at since

	stop chan struct{}
	over sync.WaitGroup
}

func newBenchShow(a *cli.App) *benchShow {
	s := &benchShow{app: a, terminal: cli.IsTerminal(a.Stderr), stop: make(chan struct{})}
	if s.terminal {
		s.over.Go(s.run)
	}
	return s
}

// close ends the display.
func (s *benchShow) close() {
	select {
	case <-s.stop:
		return
	default:
	}
	close(s.stop)
	s.over.Wait()
	s.clear()
}

func (s *benchShow) run() {
	t := time.NewTicker(250 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
			s.refresh()
		}
	}
}

func (s *benchShow) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return
	}
	now, n := time.Now(), s.live.Operations.Load()
	rate := float64(n-s.last) / now.Sub(s.since).Seconds()
	s.since, s.last = now, n
	if n == 0 && s.live.Errors.Load() == 0 { // so it stays where a program makes the load
		fmt.Fprintf(s.app.Stderr, "\r\033[K%s", s.what)
		return
	}
	errors := ""
	if e := s.live.Errors.Load(); e > 0 {
		errors = fmt.Sprintf(", %d errors", e)
	}
	fmt.Fprintf(s.app.Stderr, "\r\033[K%s: %s/s%s", s.what, bench.Thousands(rate), errors)
}

func (s *benchShow) clear() {
	if s.terminal {
		fmt.Fprint(s.app.Stderr, "\r\033[K")
	}
}

// begin is told that a run begins.
func (s *benchShow) begin(c *bench.Contest, round int, who string, live *generator.Live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what = fmt.Sprintf("%s, %s, round %d of %d, %s", c.Workload.Name, cli.Plural(c.Config.Clients, "client"), round+1,
		c.Rounds, who)
	s.live, s.since, s.last = live, time.Now(), 0
}

// watch is told of a load that is no contest.
func (s *benchShow) watch(what string, live *generator.Live) {
	if !s.terminal {
		s.say(what)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what, s.live, s.since, s.last = what, live, time.Now(), 0
}

// say shows what else is being done.
func (s *benchShow) say(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = nil
	s.clear()
	fmt.Fprintln(s.app.Stderr, what)
}

// done shows a contest in short.
func (s *benchShow) done(r *bench.Series) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = nil
	s.clear()
	fmt.Fprintf(s.app.Stderr, "%s, %s:", r.Workload, cli.Plural(r.Clients, "client"))
	for i, name := range r.Names {
		if i > 0 {
			fmt.Fprint(s.app.Stderr, ";")
		}
		m := r.Of(name)
		fmt.Fprintf(s.app.Stderr, " %s %s/s", name, bench.Thousands(m.PerSecond))
		if m.Errors > 0 {
			fmt.Fprintf(s.app.Stderr, " (%d errors, the first: %s)", m.Errors, m.FirstError)
		}
	}
	fmt.Fprintln(s.app.Stderr)
}

var benchHeader = []string{"clients", "target", "per second", "× first", "p50", "p90", "p99", "p99.9", "processor/10k",
	"memory", "flushes", "errors"}

// table writes the results of contests.
func (s *benchShow) table(all []*bench.Series) error {
	s.close()
	if s.app.JSON {
		return s.app.WriteJSON(all)
	}
	rows := [][]string{append([]string{"workload"}, benchHeader...)}
	for _, c := range all {
		for _, row := range c.Rows() {
			rows = append(rows, append([]string{c.Workload}, row...))
		}
	}
	return s.app.Table(rows)
}

// report writes the results of the standard comparison, or of trials.
func (s *benchShow) report(r *bench.Report) error {
	s.close()
	if s.app.JSON {
		return s.app.WriteJSON(r)
	}
	if len(r.Series) > 0 {
		if err := s.table(r.Series); err != nil {
			return err
		}
		fmt.Fprintln(s.app.Stdout)
	}
	for _, t := range r.Tables() {
		fmt.Fprintln(s.app.Stdout, t.Title)
		if err := s.app.Table(append([][]string{t.Header}, t.Rows...)); err != nil {
			return err
		}
		fmt.Fprintln(s.app.Stdout)
	}
	if len(r.Verdicts) == 0 {
		return nil
	}
	rows := [][]string{{"goal", "measured", ""}}
	for _, v := range r.Verdicts {
		rows = append(rows, []string{v.Goal, fmt.Sprintf("%.2f", v.Measured), v.String()})
	}
	return s.app.Table(rows)
}
