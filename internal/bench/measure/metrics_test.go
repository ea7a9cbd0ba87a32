package measure

import (
	"testing"
	"time"
)

func TestMetricsRead(t *testing.T) {
	m := make(Metrics)
	for _, line := range []string{
		"# HELP turnlog_flushes_total Flushes.", "turnlog_flushes_total 12", "turnlog_flush_seconds_total 1.5e-3",
		`turnlog_resp_command_duration_seconds_count{command="get"} 3`, "go_goroutines 40", "",
		"turnlog_odd x", "turnlog_none",
	} {
		m.read(line)
	}
	if len(m) != 2 || m["flushes_total"] != 12 || m["flush_seconds_total"] != 0.0015 {
		t.Errorf("%v", m)
	}
}

func TestWorkSince(t *testing.T) {
	reading := func(count, seconds, last float64) Metrics {
		return Metrics{FlushWork.count: count, FlushWork.seconds: seconds, FlushWork.last: last}
	}
	before := reading(3, 10, 500)
	if n, p := FlushWork.Since(before, reading(4, 12.5, 1000)); n != 1 || !p.From.Equal(time.UnixMilli(997_500)) ||
		!p.To.Equal(time.UnixMilli(1_000_000)) {
		t.Errorf("%d, %v", n, p)
	}
	for _, now := range []Metrics{before, reading(0, 0, 0), reading(1, 1, 900)} {
		if n, _ := FlushWork.Since(before, now); n != 0 {
			t.Errorf("%v: %d times", now, n)
		}
	}
}
