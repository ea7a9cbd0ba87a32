package measure

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Metrics are the figures without labels that a node of turnlog serves, by name
// without the prefix that all of turnlog's have.
type Metrics map[string]float64

// Scrape asks a node for its metrics.
func Scrape(ctx context.Context, addr string) (Metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("http://%s/metrics: %s", addr, res.Status)
	}
	m := make(Metrics)
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		m.read(lines.Text())
	}
	return m, lines.Err()
}

// read takes a line of Prometheus's text format, if it is a figure of turnlog
// without labels.
func (m Metrics) read(line string) {
	name, value, ok := strings.Cut(line, " ")
	name, ours := strings.CutPrefix(name, "turnlog_")
	if !ok || !ours || strings.Contains(name, "{") {
		return
	}
	if f, err := strconv.ParseFloat(value, 64); err == nil {
		m[name] = f
	}
}

// Work is background work of a node that its metrics tell of: how often it was
// done, how long that took together, and when the last time ended.
type Work struct{ count, seconds, last string }

var (
	FlushWork    = Work{"flushes_total", "flush_seconds_total", "flush_last_success_timestamp_seconds"}
	SnapshotWork = Work{"snapshots_taken_total", "snapshot_seconds_total", "snapshot_last_success_timestamp_seconds"}
)

// Since returns how often the work was done between two readings of one node,
// and a span that includes it, if it was. The span is exact if it was done once.
func (w Work) Since(before, now Metrics) (times int, p Span) {
	times = int(now[w.count] - before[w.count])
	if times <= 0 { // less: the node was started again
		return 0, p
	}
	end := now[w.last]
	return times, Span{unixTime(end - (now[w.seconds] - before[w.seconds])), unixTime(end)}
}

func unixTime(seconds float64) time.Time { return time.UnixMicro(int64(seconds * 1e6)) }
