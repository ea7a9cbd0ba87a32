package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// usage is what processes used.
type usage struct {
	servers, self time.Duration // processor time
	rss           uint64
	flushes       *int // of the state of turnlog's nodes; nil: not known
}

// meter measures, from /proc and from metrics, what a target's processes use and do
// between two moments.
type meter struct {
	target Target
	done   chan usage
}

// startMeter begins to measure at from, and ends at until, or with ctx.
func startMeter(ctx context.Context, t Target, from, until time.Time) *meter {
	m := &meter{target: t, done: make(chan usage, 1)}
	go func() {
		var before, after usage
		if sleepUntil(ctx, from) {
			before = m.read(ctx)
		}
		if sleepUntil(ctx, until) {
			after = m.read(ctx)
		}
		u := usage{servers: after.servers - before.servers, self: after.self - before.self, rss: after.rss}
		if before.flushes != nil && after.flushes != nil {
			n := *after.flushes - *before.flushes
			u.flushes = &n
		}
		m.done <- u
	}()
	return m
}

// sleepUntil reports whether the time came before ctx ended.
func sleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stop waits for the end of the time and returns what was used in it.
func (m *meter) stop() usage { return <-m.done }

func (m *meter) read(ctx context.Context) usage {
	u := usage{self: processorTime(os.Getpid()), flushes: countFlushes(ctx, m.target.Metrics)}
	for _, p := range m.target.Processes {
		u.servers += processorTime(p)
		u.rss += residentBytes(p)
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
		m, err := scrape(ctx, addr)
		if err != nil {
			return nil
		}
		sum += int(m[flushWork.count])
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

// residentBytes returns what a process holds of main memory; 0 if not known.
func residentBytes(pid int) uint64 {
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
