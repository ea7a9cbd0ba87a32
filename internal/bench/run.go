package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/measure"
	"github.com/turnlog/turnlog/internal/bench/target"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// Config says what to measure, and how long.
type Config struct {
	Clients  int
	Duration time.Duration // that is measured; as much as WarmUp goes before it
	WarmUp   time.Duration
	Sessions int    // keys are chosen among so many, evenly
	Size     int    // bytes of a message's payload, at least MinSize
	Last     int    // how many messages a read asks for
	Prefix   string // of the keys
	Seed     uint64
	// Goroutines drives each connection by a goroutine of its own, as a service
	// written in Go would; else one thread drives all, on Linux.
	Goroutines bool
}

// Result is what one run measured.
type Result struct {
	Workload   string        `json:"workload"`
	Target     string        `json:"target"`
	Clients    int           `json:"clients"`
	Elapsed    time.Duration `json:"elapsed_ns"`
	Operations uint64        `json:"operations"`
	Errors     uint64        `json:"errors"`
	FirstError string        `json:"first_error,omitempty"`
	PerSecond  float64       `json:"per_second"`
	P50        time.Duration `json:"p50_ns"`
	P90        time.Duration `json:"p90_ns"`
	P99        time.Duration `json:"p99_ns"`
	P999       time.Duration `json:"p999_ns"`
	Max        time.Duration `json:"max_ns"`
	// Processor time of the target's processes in seconds per 10,000 operations,
	// and what they hold of main memory at the end; 0: not known.
	CPU float64 `json:"cpu_s_per_10k,omitempty"`
	RSS uint64  `json:"rss_bytes,omitempty"`
	// Flushes counts those of the state, of all nodes together, in the time that
	// was measured; nil: not known.
	Flushes *int `json:"flushes,omitempty"`
	// Generator is the processor time of the generator, in the same unit as CPU.
	Generator float64 `json:"generator_cpu_s_per_10k,omitempty"`
}

// Run measures a workload on a target. A Result is also returned with errors in
// single operations; an error means that there is none.
func Run(ctx context.Context, t target.Target, w Workload, cfg Config, live *generator.Live) (Result, error) {
	if t.Program != "" {
		return runProgram(ctx, &t, Job{Workload: w.Name, Config: cfg})
	}
	r := rand.New(rand.NewPCG(cfg.Seed, uint64(time.Now().UnixNano())))
	begin := time.Now()
	rec := &generator.Recorder{From: begin.Add(cfg.WarmUp), Until: begin.Add(cfg.WarmUp + cfg.Duration), Live: live}
	drive := func(ctx context.Context) error {
		if w.Tails {
			return generateTail(ctx, &t, cfg, r, rec)
		}
		return generate(ctx, &t, cfg, r, rec, func() ([]generator.Step, int, bool) {
			return w.next(r), r.IntN(cfg.Sessions), time.Now().Before(rec.Until)
		})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	meter := measure.NewMeter(t.Processes, t.Metrics)
	meter.Start(ctx, rec.From, rec.Until)
	if err := drive(ctx); err != nil {
		cancel()
		meter.Stop()
		return Result{}, err
	}
	use := meter.Stop()
	res := Result{
		Workload: w.Name, Target: t.Name, Clients: cfg.Clients, Elapsed: cfg.Duration,
		Operations: rec.Operations, Errors: rec.Errors, PerSecond: float64(rec.Operations) / cfg.Duration.Seconds(),
		P50: rec.Latency.Quantile(0.5), P90: rec.Latency.Quantile(0.9), P99: rec.Latency.Quantile(0.99),
		P999: rec.Latency.Quantile(0.999), Max: rec.Latency.Max(), RSS: use.RSS, Flushes: use.Flushes,
	}
	if rec.Operations > 0 {
		per := 1e4 / float64(rec.Operations)
		res.CPU, res.Generator = use.Servers.Seconds()*per, use.Self.Seconds()*per
	}
	if rec.First != nil {
		res.FirstError = rec.First.Error()
	}
	if rec.Operations == 0 {
		return res, fmt.Errorf("%s on %s: nothing succeeded within %s: %w", w.Name, t.Name, cfg.Duration,
			cmp.Or(rec.First, errSlow))
	}
	return res, nil
}

var errSlow = errors.New("the target is too slow, or the time too short")

// Fill appends n messages to every session, as one turn each.
func Fill(ctx context.Context, t target.Target, cfg Config, n int, live *generator.Live) error {
	if t.Program != "" {
		_, err := runProgram(ctx, &t, Job{Fill: n, Config: cfg})
		return err
	}
	r := rand.New(rand.NewPCG(cfg.Seed, uint64(time.Now().UnixNano())))
	rec := &generator.Recorder{Live: live}
	session := 0
	steps := []generator.Step{{Messages: n}}
	next := func() ([]generator.Step, int, bool) {
		session++
		return steps, session - 1, session <= cfg.Sessions
	}
	t.Replicas = 0
	if err := generate(ctx, &t, cfg, r, rec, next); err != nil {
		return err
	}
	if rec.First != nil {
		return fmt.Errorf("filling sessions of %s: %d of %d failed: %w", t.Name, rec.Errors, cfg.Sessions, rec.First)
	}
	return nil
}

// generate connects the clients and drives them until next has no more operations.
func generate(ctx context.Context, t *target.Target, cfg Config, r *rand.Rand, rec *generator.Recorder,
	next func() ([]generator.Step, int, bool)) error {
	if t.Clients != nil {
		return driveClients(ctx, t.Clients, cfg, r, rec, next)
	}
	d, err := t.Dialect()
	if err != nil {
		return err
	}
	shared := &generator.Load{Dialect: d, Payloads: target.NewPayloads(cfg.Size, r), Rand: r, Last: cfg.Last,
		Operation: next, Prefix: cfg.Prefix, Record: rec}
	return generator.Run(ctx, t, d, cfg.Goroutines, shared.Clients(cfg.Clients))
}

// runProgram has a target's program do a job on it. The program ends with ctx.
func runProgram(ctx context.Context, t *target.Target, job Job) (res Result, err error) {
	job.Addr, job.Processes, job.Target = t.Addrs[0], t.Processes, t.Name
	text, err := json.Marshal(&job)
	if err != nil {
		return res, err
	}
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, t.Program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = bytes.NewReader(text), &out, &complaint,
		testcluster.ChildAttributes(syscall.SIGKILL)
	if err := cmd.Run(); err != nil {
		return res, fmt.Errorf("%s: %w: %s", t.Program, err, strings.TrimSpace(complaint.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &res); err != nil {
		return res, fmt.Errorf("what %s wrote is no result: %w", t.Program, err)
	}
	return res, nil
}
