package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/measure"
	"github.com/turnlog/turnlog/internal/bench/target"
)

const (
	shortSession = 5    // messages in each of many sessions
	longSession  = 1000 // messages in each of few
	listPage     = 1000 // sessions
	fewMessages  = 20   // of a session whose last 20 are read; the other one has a fifth of all messages
	readRounds   = 5

	shapeGoal  = 1    // cost per message of many sessions, to that of few
	depthGoal  = 0.95 // reads of a session's end per second, of a very long one to a short one
	othersGoal = 3    // p99 of appends of others, to that without
)

// ShapesFigures are what shapes measures.
type ShapesFigures struct {
	Wide   Shape    `json:"wide"`
	Narrow Shape    `json:"narrow"`
	Calm   Latency  `json:"calm"`
	List   Paging   `json:"list"`
	Erase  Paging   `json:"erase"`
	Depth  []Result `json:"depth"` // reads of the long session and the short one, in turn
	Deep   int      `json:"deep"`  // messages of the long one
}

// Shape is the cost of messages in sessions of one length.
type Shape struct {
	Sessions   int     `json:"sessions"`
	PerSession int     `json:"per_session"`
	PerSecond  float64 `json:"per_second"`
	CPU        float64 `json:"cpu_s_per_10k"` // of all nodes
	P50, P99   time.Duration
}

// Paging is what it takes to list or to delete all sessions.
type Paging struct {
	Sessions uint64        `json:"sessions"`
	Elapsed  time.Duration `json:"elapsed_ns"`
	Pages    Latency       `json:"pages"`
	Others   Latency       `json:"others"`
}

func shapes(ctx context.Context, s *Setup) (*Findings, error) {
	f := new(ShapesFigures)
	err := s.on(ctx, func(c *Cluster) (err error) {
		if f.Wide, err = s.shape(ctx, c, "wide-", shortSession); err != nil {
			return err
		}
		return s.wholeKeyspace(ctx, c, "wide-", f)
	})
	if err != nil {
		return nil, err
	}
	err = s.on(ctx, func(c *Cluster) (err error) {
		if f.Narrow, err = s.shape(ctx, c, "narrow-", longSession); err != nil {
			return err
		}
		return s.depth(ctx, c, f)
	})
	if err != nil {
		return nil, err
	}
	return &Findings{Figures: f, Verdicts: f.verdicts(), Tables: f.tables()}, nil
}

// shape appends all messages one by one, to each session as many.
func (s *Setup) shape(ctx context.Context, c *Cluster, prefix string, perSession int) (Shape, error) {
	sh := Shape{Sessions: max(s.Messages/perSession, 1), PerSession: perSession}
	t, err := c.Leader(ctx)
	if err != nil {
		return sh, err
	}
	cfg := s.Config
	cfg.Prefix += prefix
	next := inTurn(sh.Sessions, sh.Sessions*perSession)
	m := measure.NewMeter(t.Processes, t.Metrics)
	before := m.Read(ctx)
	what := fmt.Sprintf("%s sessions of %s messages", Thousands(float64(sh.Sessions)), Thousands(float64(perSession)))
	load := s.start(ctx, t, cfg, what, next)
	if err := load.wait(); err != nil {
		return sh, err
	}
	elapsed := time.Since(load.samples.Begin)
	used := m.Read(ctx).Servers - before.Servers
	h := load.samples.Within(measure.Span{From: load.samples.Begin, To: time.Now()})
	sh.PerSecond = float64(h.Total()) / elapsed.Seconds()
	sh.CPU = used.Seconds() * 1e4 / float64(h.Total())
	sh.P50, sh.P99 = h.Quantile(0.5), h.Quantile(0.99)
	return sh, nil
}

// inTurn goes round all sessions, in an order that is not that of their keys, and
// stops after n operations.
func inTurn(sessions, n int) func(*rand.Rand) (int, bool) {
	stride := 1
	for candidate := sessions*5/8 | 1; candidate > 1; candidate -= 2 {
		if gcd(candidate, sessions) == 1 {
			stride = candidate
			break
		}
	}
	i, at := 0, 0
	return func(*rand.Rand) (int, bool) {
		i++
		at = (at + stride) % sessions
		return at, i <= n
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// wholeKeyspace lists all sessions, then deletes them, while others append.
func (s *Setup) wholeKeyspace(ctx context.Context, c *Cluster, prefix string, f *ShapesFigures) error {
	all, err := c.byRole(ctx)
	if err != nil {
		return err
	}
	load, err := s.others(ctx, c, "appending while all sessions are listed, and deleted")
	if err != nil {
		return err
	}
	prefix = s.Config.Prefix + prefix
	calm, err := s.calm(ctx)
	var listing, erasing measure.Span
	if err == nil {
		listing, err = during(func() error { return f.List.list(ctx, all[0].RESPAddr, prefix) })
	}
	if err == nil {
		erasing, err = during(func() error { return f.Erase.erase(ctx, all[0].RESPAddr, prefix) })
	}
	if ended := load.stop(); err == nil {
		err = ended
	}
	if err != nil {
		return err
	}
	for _, p := range []*Paging{&f.List, &f.Erase} {
		if p.Sessions != uint64(f.Wide.Sessions) {
			return fmt.Errorf("%d sessions were found, %d are there", p.Sessions, f.Wide.Sessions)
		}
	}
	f.List.Elapsed, f.Erase.Elapsed = listing.To.Sub(listing.From), erasing.To.Sub(erasing.From)
	f.Calm, f.List.Others, f.Erase.Others = latencyOf(load.samples.Within(calm)),
		latencyOf(load.samples.Within(listing)), latencyOf(load.samples.Within(erasing))
	return nil
}

// list asks for page after page.
func (p *Paging) list(ctx context.Context, addr, prefix string) error {
	conn, err := dialCommands(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	var pages measure.Histogram
	for cursor := ""; ; {
		begun := time.Now()
		v, err := conn.ask("TURN.LIST", "PREFIX", prefix, "CURSOR", cursor, "LIMIT", strconv.Itoa(listPage))
		if err != nil {
			return err
		}
		pages.Record(time.Since(begun))
		if len(v.Elems) != 4 {
			return fmt.Errorf("TURN.LIST answers with %d parts", len(v.Elems))
		}
		p.Sessions += uint64(len(v.Elems[3].Elems))
		if cursor = string(v.Elems[1].Str); cursor == "" {
			p.Pages = latencyOf(&pages)
			return nil
		}
	}
}

// erase deletes all at once; the server takes steps.
func (p *Paging) erase(ctx context.Context, addr, prefix string) error {
	conn, err := dialCommands(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	v, err := conn.ask("TURN.ERASE", "PREFIX", prefix)
	if err != nil {
		return err
	}
	if len(v.Elems) != 2 {
		return fmt.Errorf("TURN.ERASE answers with %d parts", len(v.Elems))
	}
	p.Sessions = uint64(v.Elems[1].Int)
	return nil
}

// depth reads the end of a session with a fifth of all messages, and of one of a
// few, in turn.
func (s *Setup) depth(ctx context.Context, c *Cluster, f *ShapesFigures) error {
	t, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	f.Deep = max(s.Messages/shortSession, fewMessages)
	read, err := FindWorkload("read")
	if err != nil {
		return err
	}
	kinds := []struct {
		name     string
		messages int
	}{{"long", f.Deep}, {"short", fewMessages}}
	for _, k := range kinds {
		s.Say(fmt.Sprintf("filling one session with %s messages", Thousands(float64(k.messages))))
		if err := fillOne(ctx, t, s.Config, k.name+"-", k.messages); err != nil {
			return err
		}
	}
	for round := range readRounds {
		for i := range kinds {
			k := kinds[(i+round)%len(kinds)]
			cfg := s.Config
			cfg.Prefix, cfg.Sessions, cfg.Clients, cfg.Last = k.name+"-", 1, 1, fewMessages
			cfg.Duration = max(cfg.Duration/readRounds, time.Millisecond)
			cfg.WarmUp = min(cfg.WarmUp, cfg.Duration)
			t.Name = k.name
			r, err := Run(ctx, t, read, cfg,
				s.live(fmt.Sprintf("reading the last %d of the %s session", fewMessages, k.name)))
			if err != nil {
				return err
			}
			f.Depth = append(f.Depth, r)
		}
	}
	return nil
}

// fillOne appends n messages to one session, in large turns.
func fillOne(ctx context.Context, t target.Target, cfg Config, prefix string, n int) error {
	turn := max(1, min(500, 4<<20/cfg.Size))
	cfg.Prefix, cfg.Sessions, cfg.Clients = prefix, 1, 1
	r := rand.New(rand.NewPCG(cfg.Seed, uint64(n)))
	rec := &generator.Recorder{Live: new(generator.Live)}
	err := generate(ctx, &t, cfg, r, rec, func() ([]generator.Step, int, bool) {
		steps := []generator.Step{{Messages: min(turn, n)}}
		n -= turn
		return steps, 0, n > -turn
	})
	if err != nil {
		return err
	}
	return rec.First
}
