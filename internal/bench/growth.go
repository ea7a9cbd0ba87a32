package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/turnlog/turnlog/internal/bench/measure"
)

// The goals of growth.
const (
	endGoal     = 0.9 // throughput at the end, in parts of that at the beginning
	flushGoal   = 3   // p99 while a node flushes or takes a snapshot, to that without
	memoryGoal  = 512 // MiB resident
	diskGoal    = 2.5 // disk use of a node, in payloads
	restartGoal = 3   // seconds
	refillGoal  = 100 // MB/s
	refillP99   = 2   // p99 while a node is filled, to that without
)

// GrowthFigures are what growth measures.
type GrowthFigures struct {
	Messages  int           `json:"messages"`
	Size      int           `json:"size"`
	Clients   int           `json:"clients"`
	Elapsed   time.Duration `json:"elapsed_ns"`
	PerSecond float64       `json:"per_second"`
	First     float64       `json:"first_per_second"` // in the first minute, or quarter if that is less
	Last      float64       `json:"last_per_second"`  // in the last one
	Intervals []Interval    `json:"intervals"`
	Flushes   int           `json:"flushes"`
	Snapshots int           `json:"snapshots"`
	Busy      float64       `json:"busy_share"` // of the time, in which some node flushed or took a snapshot
	BusyP99   time.Duration `json:"busy_p99_ns"`
	OtherP99  time.Duration `json:"other_p99_ns"`
	RSS       []uint64      `json:"rss_bytes"` // the most that each node held
	Disk      []uint64      `json:"disk_bytes"`
	Log       []uint64      `json:"log_bytes"` // of Disk
	Payload   uint64        `json:"payload_bytes"`
	Restart   *Restart      `json:"restart,omitempty"`
}

// Interval is a part of the growth.
type Interval struct {
	Stored    int           `json:"stored"` // messages at its end
	Seconds   float64       `json:"seconds"`
	PerSecond float64       `json:"per_second"`
	P50       time.Duration `json:"p50_ns"`
	P99       time.Duration `json:"p99_ns"`
	Max       time.Duration `json:"max_ns"`
	Flushes   int           `json:"flushes"` // that ended in it, of all nodes together
	Snapshots int           `json:"snapshots"`
	RSS       []uint64      `json:"rss_bytes"`
}

func growth(ctx context.Context, s *Setup) (*Findings, error) {
	g := &GrowthFigures{Messages: s.Messages, Size: s.Config.Size, Clients: s.Config.Clients,
		Payload: uint64(s.Messages) * uint64(s.Config.Size)}
	err := s.on(ctx, func(c *Cluster) error {
		if err := s.grow(ctx, c, g); err != nil {
			return err
		}
		if err := s.measureDisk(ctx, c, g); err != nil {
			return err
		}
		if !s.Restart {
			return nil
		}
		var err error
		g.Restart, err = s.restart(ctx, c, g.Payload)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Findings{Figures: g, Verdicts: g.verdicts(), Tables: g.tables()}, nil
}

// grow appends all messages through the leader.
func (s *Setup) grow(ctx context.Context, c *Cluster, g *GrowthFigures) error {
	t, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	w := startWatch(ctx, c.Nodes)
	left := s.Messages
	load := s.start(ctx, t, s.Config, fmt.Sprintf("appending %s messages", Thousands(float64(s.Messages))),
		func(r *rand.Rand) (int, bool) {
			left--
			return r.IntN(s.Config.Sessions), left >= 0
		})
	err = load.wait()
	w.stop(ctx)
	if err != nil {
		return err
	}
	g.digest(&load.samples, w, s.Interval)
	return nil
}

// digest computes the figures of the growth itself.
func (g *GrowthFigures) digest(all *measure.Samples, w *watch, interval time.Duration) {
	n := len(all.At)
	whole := measure.Span{From: all.Begin, To: all.Begin.Add(time.Duration(all.At[n-1]+1) * measure.SampleUnit)}
	g.Elapsed = whole.To.Sub(whole.From)
	g.PerSecond = float64(n) / g.Elapsed.Seconds()
	edge := min(time.Minute, g.Elapsed/4)
	g.First = float64(all.Within(measure.Span{From: whole.From, To: whole.From.Add(edge)}).Total()) / edge.Seconds()
	g.Last = float64(all.Within(measure.Span{From: whole.To.Add(-edge), To: whole.To}).Total()) / edge.Seconds()
	stored := 0
	for at := whole.From; at.Before(whole.To); at = at.Add(interval) {
		p := measure.Span{From: at, To: at.Add(interval)}
		if p.To.After(whole.To) {
			p.To = whole.To
		}
		h, seen, seconds := all.Within(p), w.seen(p), p.To.Sub(p.From).Seconds()
		stored += int(h.Total())
		g.Intervals = append(g.Intervals,
			Interval{Stored: stored, Seconds: seconds, PerSecond: float64(h.Total()) / seconds,
				P50: h.Quantile(0.5), P99: h.Quantile(0.99), Max: h.Max(), Flushes: seen.flushes,
				Snapshots: seen.snapshots, RSS: seen.rss})
	}
	seen := w.seen(measure.Span{From: whole.From, To: time.Now()})
	g.Flushes, g.Snapshots, g.RSS = seen.flushes, seen.snapshots, seen.rss
	busy, without := all.Split(w.busy)
	g.BusyP99, g.OtherP99 = busy.Quantile(0.99), without.Quantile(0.99)
	g.Busy = measure.Share(w.busy, whole)
}

// measureDisk has every node compact its log, and looks what is left.
func (s *Setup) measureDisk(ctx context.Context, c *Cluster, g *GrowthFigures) error {
	s.Say("compacting the logs")
	for _, n := range c.Nodes {
		if err := n.Snapshot(ctx); err != nil {
			return err
		}
		all, log, err := diskUse(n.Dir, "wal")
		if err != nil {
			return err
		}
		g.Disk, g.Log = append(g.Disk, all), append(g.Log, log)
	}
	return nil
}
