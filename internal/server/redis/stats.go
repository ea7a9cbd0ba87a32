package redis

import (
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// durationBounds are the upper bounds of the duration buckets, in seconds; what
// is longer is counted in one more.
func durationBounds() []float64 {
	return []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
}

// Metrics is what a Server has counted since it was made.
type Metrics struct {
	Connections     int    // open now
	Accepted        uint64 // connections, ever
	Rejected        uint64 // connections, because MaxClients were open
	BytesReceived   uint64
	BytesSent       uint64
	ReceiveBytes    int64  // memory held by large requests being received
	UnknownCommands uint64 // requests for commands that do not exist, or too long, or malformed
	DurationBounds  []float64
	Commands        []CommandMetrics // those that were called, in the order of the table
}

// CommandMetrics is what was counted for a command. The duration of a call runs
// from the moment at which it was read to that at which its reply is written.
type CommandMetrics struct {
	Name      string // "lpush", "client|list"
	Calls     uint64
	Errors    uint64
	Seconds   float64  // durations of all calls together
	Durations []uint64 // calls by duration: at most DurationBounds[i], and the rest
}

type stats struct {
	accepted, rejected atomic.Uint64
	received, sent     atomic.Uint64
	unknown            atomic.Uint64
	bounds             []time.Duration
	commands           []commandStats // by command.slot
}

type commandStats struct {
	calls, errors, nanos atomic.Uint64
	durations            []atomic.Uint64
}

func newStats(t *command.Table) *stats {
	s := &stats{commands: make([]commandStats, len(t.Slots))}
	for _, b := range durationBounds() {
		s.bounds = append(s.bounds, time.Duration(b*float64(time.Second)))
	}
	for i := range s.commands {
		s.commands[i].durations = make([]atomic.Uint64, len(s.bounds)+1)
	}
	return s
}

// count counts a call; cmd is nil if there is no such command.
func (s *stats) count(cmd *command.Command, d time.Duration, failed bool) {
	if cmd == nil {
		s.unknown.Add(1)
		return
	}
	c := &s.commands[cmd.Slot]
	c.calls.Add(1)
	c.nanos.Add(uint64(max(0, d)))
	if failed {
		c.errors.Add(1)
	}
	i := 0
	for i < len(s.bounds) && d > s.bounds[i] {
		i++
	}
	c.durations[i].Add(1)
}

// calls returns the number of all calls.
func (s *stats) calls() uint64 {
	n := s.unknown.Load()
	for i := range s.commands {
		n += s.commands[i].calls.Load()
	}
	return n
}

// Metrics returns what was counted. It may be called by any goroutine.
func (s *Server) Metrics() Metrics {
	s.mu.Lock()
	open := len(s.conns)
	s.mu.Unlock()
	m := Metrics{
		Connections: open, Accepted: s.stats.accepted.Load(), Rejected: s.stats.rejected.Load(),
		BytesReceived: s.stats.received.Load(), BytesSent: s.stats.sent.Load(), ReceiveBytes: s.receive.Used(),
		UnknownCommands: s.stats.unknown.Load(), DurationBounds: durationBounds(),
	}
	for i := range s.stats.commands {
		c := &s.stats.commands[i]
		if c.calls.Load() == 0 {
			continue
		}
		cm := CommandMetrics{Name: s.table.Slots[i].Name, Calls: c.calls.Load(), Errors: c.errors.Load(),
			Seconds: time.Duration(c.nanos.Load()).Seconds()}
		for j := range c.durations {
			cm.Durations = append(cm.Durations, c.durations[j].Load())
		}
		m.Commands = append(m.Commands, cm)
	}
	return m
}
