package measure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Usage is what processes used.
type Usage struct {
	Servers, Self time.Duration // processor time
	RSS           uint64
	Flushes       *int // of the state of turnlog's nodes; nil: not known
}

// Meter measures, from /proc and from metrics, what a target's processes use and do
// between two moments.
type Meter struct {
	processes []int
	metrics   []string // addresses of nodes that serve them
	done      chan Usage
}

// NewMeter returns a meter of processes, and of the nodes of turnlog that serve metrics at these addresses.
func NewMeter(processes []int, metrics []string) *Meter {
	return &Meter{processes: processes, metrics: metrics, done: make(chan Usage, 1)}
}

// Start begins to measure at from, and ends at until, or with ctx.
func (m *Meter) Start(ctx context.Context, from, until time.Time) {
	go func() {
		var before, after Usage
		if SleepUntil(ctx, from) {
			before = m.Read(ctx)
		}
		if SleepUntil(ctx, until) {
			after = m.Read(ctx)
		}
		u := Usage{Servers: after.Servers - before.Servers, Self: after.Self - before.Self, RSS: after.RSS}
		if before.Flushes != nil && after.Flushes != nil {
			n := *after.Flushes - *before.Flushes
			u.Flushes = &n
		}
		m.done <- u
	}()
}

// SleepUntil reports whether the time came before ctx ended.
func SleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Stop waits for the end of the time and returns what was used in it.
func (m *Meter) Stop() Usage { return <-m.done }

func (m *Meter) Read(ctx context.Context) Usage {
	u := Usage{Self: processorTime(os.Getpid()), Flushes: countFlushes(ctx, m.metrics)}
	for _, p := range m.processes {
		u.Servers += processorTime(p)
		u.RSS += ResidentBytes(p)
	}
	return u
}

// countFlushes returns how often nodes have flushed; nil if one does not tell.
func countFlushes(ctx context.Context, nodes []string) *int {
	if len(nodes) == 0 {
		return nil
	}
	sum := 0
	for _, addr := range nodes {
		m, err := Scrape(ctx, addr)
		if err != nil {
			return nil
		}
		sum += int(m[FlushWork.count])
	}
	return &sum
}

// clockTick is the unit of times in /proc on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// processorTime returns the time that a process has spent on processors, in user
// and kernel mode; 0 if it cannot be read.
func processorTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may contain spaces; fields 14 and 15 are the times.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * clockTick
}

// ResidentBytes returns what a process holds of main memory; 0 if not known.
func ResidentBytes(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages * uint64(os.Getpagesize())
}
