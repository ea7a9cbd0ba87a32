package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/measure"
	"github.com/turnlog/turnlog/internal/bench/target"
)

// expiryGoal is the p99 of appends while sessions expire, to that before.
const expiryGoal = 3

// ExpiryFigures are what ttl measures.
type ExpiryFigures struct {
	Sessions int           `json:"sessions"`
	Window   time.Duration `json:"window_ns"` // in which they expire
	Before   Latency       `json:"before"`
	Expiring Latency       `json:"expiring"`
}

// expiry makes sessions of one message that all expire within a window, and
// appends to others before the window and in it.
func expiry(ctx context.Context, s *Setup) (*Findings, error) {
	f := &ExpiryFigures{Sessions: max(s.Messages/shortSession, 1), Window: s.Window}
	err := s.on(ctx, func(c *Cluster) error {
		t, err := c.Leader(ctx)
		if err != nil {
			return err
		}
		opens, err := s.fillExpiring(ctx, t, f.Sessions)
		if err != nil {
			return err
		}
		load, err := s.others(ctx, c,
			fmt.Sprintf("appending before and while %s sessions expire", Thousands(float64(f.Sessions))))
		if err != nil {
			return err
		}
		before := measure.Span{From: time.Now().Add(s.Config.WarmUp), To: opens}
		// The second half includes what is left to clean up.
		expiring := measure.Span{From: opens, To: opens.Add(s.Window + s.Config.Duration)}
		measure.SleepUntil(ctx, expiring.To)
		if err := load.stop(); err != nil {
			return err
		}
		f.Before, f.Expiring = latencyOf(load.samples.Within(before)), latencyOf(load.samples.Within(expiring))
		return s.allExpired(ctx, t.Addrs[0])
	})
	if err != nil {
		return nil, err
	}
	return &Findings{Figures: f, Verdicts: f.verdicts(), Tables: f.tables()}, nil
}

// fillExpiring makes the sessions. It returns when the window opens: long enough
// after it has returned for the state before to be measured.
func (s *Setup) fillExpiring(ctx context.Context, t target.Target, sessions int) (opens time.Time, err error) {
	cfg := s.Config
	cfg.Prefix += expiringPrefix
	// How long the filling will take must be known before: a part of it tells. The
	// sessions of that part are made again by the rest.
	part := max(sessions/20, 1)
	begun := time.Now()
	if err := s.fillUntil(ctx, t, cfg, part, func(int) time.Time { return begun.Add(time.Hour) }); err != nil {
		return opens, err
	}
	estimate := time.Duration(float64(time.Since(begun)) * float64(sessions) / float64(part))
	// A machine with other work needs longer than a part let expect. Then the sessions get a message
	// more and a later deadline.
	for allowed := 2*estimate + time.Second; ; allowed *= 4 {
		opens = time.Now().Add(allowed + s.Config.WarmUp + s.Config.Duration)
		deadline := func(session int) time.Time {
			return opens.Add(time.Duration(float64(s.Window) * float64(session) / float64(sessions)))
		}
		if err := s.fillUntil(ctx, t, cfg, sessions, deadline); err != nil {
			return opens, err
		}
		late := s.Config.WarmUp + s.Config.Duration - time.Until(opens)
		if late <= 0 {
			return opens, nil
		}
		if allowed > 20*estimate+time.Minute {
			return opens, fmt.Errorf("making %d sessions took %s longer than the %s that were allowed; "+
				"the machine has other work", sessions, late, allowed)
		}
	}
}

const expiringPrefix = "expiring-"

// fillUntil appends a message to each session, which is to expire at its deadline.
func (s *Setup) fillUntil(ctx context.Context, t target.Target, cfg Config, sessions int,
	deadline func(session int) time.Time) error {
	r := rand.New(rand.NewPCG(cfg.Seed, uint64(time.Now().UnixNano())))
	making := fmt.Sprintf("making %s sessions that expire", Thousands(float64(sessions)))
	rec := &generator.Recorder{Live: s.live(making)}
	d := &expiringDialect{TurnDialect: target.NewTurnDialect(&t)}
	each := inTurn(sessions, sessions)
	load := &generator.Load{Dialect: d, Payloads: target.NewPayloads(cfg.Size, r), Rand: r, Prefix: cfg.Prefix,
		Record: rec}
	load.Operation = func() ([]generator.Step, int, bool) {
		session, more := each(r)
		d.deadline = deadline(session)
		return oneMore, session, more
	}
	if err := generator.Run(ctx, &t, d, cfg.Goroutines, load.Clients(cfg.Clients)); err != nil {
		return err
	}
	return rec.First
}

// expiringDialect appends with a time to live.
type expiringDialect struct {
	*target.TurnDialect
	deadline time.Time // of the session that is appended to next
}

func (d *expiringDialect) Append(dst, key []byte, n int, p *target.Payloads) ([]byte, int) {
	dst = target.AppendCommand(dst, 4+3*n)
	dst = target.AppendWord(dst, "TURN.APPEND")
	dst = target.AppendWordBytes(dst, key)
	dst = target.AppendWord(dst, "PX")
	dst = target.AppendWord(dst, strconv.FormatInt(max(time.Until(d.deadline).Milliseconds(), 1), 10))
	return d.AppendMessages(dst, n, p), 1
}

// allExpired returns an error unless none of the sessions is left.
func (s *Setup) allExpired(ctx context.Context, addr string) error {
	return new(processes).until(ctx, func(ctx context.Context) error {
		v, err := ask(ctx, addr, "TURN.LIST", "PREFIX", s.Config.Prefix+expiringPrefix, "LIMIT", "1")
		if err != nil {
			return err
		}
		if len(v.Elems) != 4 || len(v.Elems[3].Elems) > 0 {
			return errors.New("there are sessions behind their deadline")
		}
		return nil
	})
}

func (f *ExpiryFigures) verdicts() []Verdict {
	return []Verdict{atMost(fmt.Sprintf("ttl: p99 of appends while %s sessions expire within %s ≤ %d × the p99 before",
		Thousands(float64(f.Sessions)), f.Window, expiryGoal), expiryGoal, ratio(f.Expiring.P99, f.Before.P99))}
}

func (f *ExpiryFigures) tables() []Table {
	return []Table{{
		Title:  fmt.Sprintf("ttl: %s sessions expire within %s", Thousands(float64(f.Sessions)), f.Window),
		Header: latencyHeader,
		Rows:   [][]string{f.Before.row("before"), f.Expiring.row("while they expire")},
	}}
}
