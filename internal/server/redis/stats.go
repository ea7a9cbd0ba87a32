package redis

import (
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/histogram"
	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// newDurations returns a histogram of how long a command takes.
func newDurations() *histogram.Durations {
	const ms = time.Millisecond
	return histogram.New(ms/10, ms/4, ms/2, ms, 5*ms/2, 5*ms, 10*ms, 25*ms, 50*ms, 100*ms, 250*ms, 500*ms, time.Second,
		2500*ms, 5*time.Second)
}

// Metrics is what a Server has counted since it was made.
type Metrics struct {
	Connections     int    // open now
	Accepted        uint64 // connections, ever
	Rejected        uint64 // connections, because MaxClients were open
	BytesReceived   uint64
	BytesSent       uint64
	ReceiveBytes    int64            // memory held by large requests being received
	ReplyBytes      int64            // memory held by replies that are not written yet
	UnknownCommands uint64           // requests for commands that do not exist, or too long, or malformed
	Commands        []CommandMetrics // those that were called, in the order of the table
}

// CommandMetrics is what was counted for a command. The duration of a call runs
// from the moment at which it was read to that at which its reply is written.
type CommandMetrics struct {
	Name      string // "lpush", "client|list"
	Errors    uint64
	Durations histogram.Report // of all calls
}

type stats struct {
	accepted, rejected atomic.Uint64
	unknown            atomic.Uint64
	commands           []commandStats // by command.slot
}

type commandStats struct {
	errors    atomic.Uint64
	durations *histogram.Durations
}

func newStats(t *command.Table) *stats {
	s := &stats{commands: make([]commandStats, len(t.Slots))}
	for i := range s.commands {
		s.commands[i].durations = newDurations()
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
	if failed {
		c.errors.Add(1)
	}
	c.durations.Add(max(0, d))
}

// calls returns the number of all calls.
func (s *stats) calls() uint64 {
	n := s.unknown.Load()
	for i := range s.commands {
		n += s.commands[i].durations.Count()
	}
	return n
}

// Metrics returns what was counted. It may be called by any goroutine.
func (s *Server) Metrics() Metrics {
	m := Metrics{
		Connections: s.conns.count(), Accepted: s.stats.accepted.Load(), Rejected: s.stats.rejected.Load(),
		BytesReceived: s.wires.Received.Load(), BytesSent: s.wires.Sent.Load(), ReceiveBytes: s.memory.Used(),
		ReplyBytes:      s.replying.Used(),
		UnknownCommands: s.stats.unknown.Load(),
	}
	for i := range s.stats.commands {
		c := &s.stats.commands[i]
		if c.durations.Count() == 0 {
			continue
		}
		m.Commands = append(m.Commands, CommandMetrics{Name: s.table.Slots[i].Name, Errors: c.errors.Load(),
			Durations: c.durations.Report()})
	}
	return m
}
