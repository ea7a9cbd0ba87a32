package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/measure"
	"github.com/turnlog/turnlog/internal/bench/target"
)

// Trial is a measurement on clusters of three nodes that the benchmark starts for
// it: what becomes of turnlog when there is much data, or much at once.
type Trial struct {
	Name string
	Help string
	run  func(ctx context.Context, s *Setup) (*Findings, error)
}

// Setup says how one trial is held.
type Setup struct {
	Turnlog  string        // path of the turnlog binary
	Dir      string        // for the nodes' data; removed at the end; default: a temporary one
	Config   Config        // Duration: how long a state is measured that others are compared with
	Messages int           // that a trial stores
	Interval time.Duration // of growth's table
	Window   time.Duration // in which ttl's sessions expire
	Restart  bool          // growth: restart a node, and replace one
	// Say is told what is being done, Begin of a load that can be watched.
	Say   func(what string)
	Begin func(what string, live *generator.Live)

	loads []*background // of the trial, whose failed operations are reported
}

// Findings are what a trial found.
type Findings struct {
	Trial    string    `json:"trial"`
	Figures  any       `json:"figures"`
	Verdicts []Verdict `json:"verdicts"`
	// Errors counts operations that failed, which the figures do not include.
	Errors     uint64  `json:"errors"`
	FirstError string  `json:"first_error,omitempty"`
	Tables     []Table `json:"-"` // the figures, for people
}

// Table is figures for people. The first column says what the others are about.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
}

// Hold runs the trial.
func (t Trial) Hold(ctx context.Context, s *Setup) (*Findings, error) {
	f, err := t.run(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	f.Trial = t.Name
	for _, b := range s.loads {
		f.Errors += b.rec.Errors
		if b.rec.First != nil && f.FirstError == "" {
			f.FirstError = b.rec.First.Error()
		}
	}
	if f.Errors > 0 {
		f.Tables = append(f.Tables, Table{Title: t.Name + ": errors", Header: []string{"number", "the first"},
			Rows: [][]string{{fmt.Sprint(f.Errors), f.FirstError}}})
	}
	return f, nil
}

// on starts a cluster of three nodes for f, and removes it afterwards.
func (s *Setup) on(ctx context.Context, f func(c *Cluster) error) error {
	dir, err := os.MkdirTemp(s.Dir, "turnlog-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := StartTurnlog(ctx, s.Turnlog, dir, 3)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

// live announces a load and returns what it is to count in.
func (s *Setup) live(what string) *generator.Live {
	l := new(generator.Live)
	s.Begin(what, l)
	return l
}

// start starts a load whose failures are reported with the findings.
func (s *Setup) start(ctx context.Context, t target.Target, cfg Config, what string,
	session func(*rand.Rand) (int, bool)) *background {
	b := startBackground(ctx, t, cfg, s.live(what), session)
	s.loads = append(s.loads, b)
	return b
}

// others starts what stands for the other clients of the cluster: appends through
// the leader to sessions that nothing else touches.
func (s *Setup) others(ctx context.Context, c *Cluster, what string) (*background, error) {
	t, err := c.Leader(ctx)
	if err != nil {
		return nil, err
	}
	cfg := s.Config
	cfg.Prefix += "others-"
	return s.start(ctx, t, cfg, what, anySession(cfg.Sessions)), nil
}

// calm lets the load of others run undisturbed, and returns when it did.
func (s *Setup) calm(ctx context.Context) (measure.Span, error) {
	begun := time.Now().Add(s.Config.WarmUp)
	if !measure.SleepUntil(ctx, begun.Add(s.Config.Duration)) {
		return measure.Span{}, ctx.Err()
	}
	return measure.Span{From: begun, To: time.Now()}, nil
}

// during returns when f ran.
func during(f func() error) (measure.Span, error) {
	begun := time.Now()
	err := f()
	return measure.Span{From: begun, To: time.Now()}, err
}

func atLeast(goal string, wanted, measured float64) Verdict {
	return Verdict{Goal: goal, Wanted: wanted, Measured: measured, Met: measured >= wanted}
}

// atMost is a goal for a figure that is 0 if it could not be measured.
func atMost(goal string, wanted, measured float64) Verdict {
	return Verdict{Goal: goal, Wanted: wanted, Measured: measured, Met: measured > 0 && measured <= wanted}
}

// Latency is how long the appends of others took.
type Latency struct {
	Number uint64        `json:"number"`
	P50    time.Duration `json:"p50_ns"`
	P99    time.Duration `json:"p99_ns"`
	P999   time.Duration `json:"p999_ns"`
	Max    time.Duration `json:"max_ns"`
}

func latencyOf(h *measure.Histogram) Latency {
	return Latency{h.Total(), h.Quantile(0.5), h.Quantile(0.99), h.Quantile(0.999), h.Max()}
}

func (l Latency) row(name string) []string {
	return []string{name, Thousands(float64(l.Number)), micros(l.P50), micros(l.P99), micros(l.P999), micros(l.Max)}
}

var latencyHeader = []string{"appends of others", "number", "p50", "p99", "p99.9", "longest"}

// diskUse returns what the files of a directory occupy, and of that, what those
// below the directory called log do.
func diskUse(dir, log string) (all, ofLog uint64, err error) {
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		n := occupied(info)
		all += n
		if strings.HasPrefix(path, filepath.Join(dir, log)+string(filepath.Separator)) {
			ofLog += n
		}
		return nil
	})
	return all, ofLog, err
}
