package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

func topCommand(a *cli.App) *cobra.Command {
	interval, count := 2*time.Second, 0
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what each node does, again and again, until Ctrl-C",
		Long: `Top shows, every --interval, for each member of the cluster:

  REQUESTS/S     Redis commands and HTTP requests that it answered
  P99            within which 99 of 100 of these were answered; the slower of the two
                 protocols. Of the metrics' histograms, so it is coarse
  WRITES/S       writes of its clients, wherever they were applied
  SYNC P99       the same for writing its log to its disk
  FAILED/S       writes it refused as overloaded or unavailable, and those with an
                 unknown outcome
  CONNS          connections of clients
  BEHIND         how far its state is behind the leader's: log entries, and time
  CPU, MEMORY    of the process; 100% is one core
  DISK FREE      of its data directory's file system

Its own requests are counted, too. On a terminal each view replaces the one before. With
--json each is one line, and null is what a node does not tell. The first view takes one
interval; while a node does not answer, each takes up to 3 s, or --timeout. Nodes with users
show their metrics to users only.`,
		Example: `  turnlog top --addr 127.0.0.1:7379,127.0.0.1:7389,127.0.0.1:7399
  turnlog top --count 1 --interval 10s      # once, for a script`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if interval < 100*time.Millisecond || count < 0 {
				return cli.Usagef("--interval must be at least 100ms, and --count not negative")
			}
			ctx, stop := cli.Interruptible(context.Background())
			defer stop()
			return runTop(ctx, a, interval, count)
		},
	}
	cmd.Flags().DurationVar(&interval, "interval", interval,
		"time from one view to the next, over which rates are taken")
	cmd.Flags().IntVar(&count, "count", count, "how many views to show; 0: until Ctrl-C")
	return cmd
}

// runTop shows views until it has shown so many, or ctx ends, which is no error. While no node answers it says so, and
// goes on; but not if none does at the beginning.
func runTop(ctx context.Context, a *cli.App, interval time.Duration, count int) error {
	cl, err := bestView(a)
	if err != nil {
		return err
	}
	before := sampleAll(ctx, a, cl.Nodes)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for shown := 0; count == 0 || shown < count; shown++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		cl, err := bestView(a)
		now := sampleAll(ctx, a, cl.Nodes)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			fmt.Fprintf(a.Stderr, "turnlog: %v\n", err)
		} else if err := showTop(a, cl, before, now); err != nil {
			return err
		}
		before = now
	}
	return nil
}

// sampleAll asks all nodes at once; those that do not tell are missing.
func sampleAll(ctx context.Context, a *cli.App, nodes []turn.Node) map[string]*sample {
	wait := viewTime
	if a.TimeoutGiven() {
		wait = a.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	got := make([]*sample, len(nodes))
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() {
			if s, err := sampleOf(ctx, a, nodes[i].HTTPAddr); err == nil {
				got[i] = s
			}
		})
	}
	wg.Wait()
	all := make(map[string]*sample)
	for i, s := range got {
		if s != nil {
			all[nodes[i].ID] = s
		}
	}
	return all
}

// topNode is a row. What a node does not tell is nil.
type topNode struct {
	Node        string   `json:"node"`
	Role        string   `json:"role"`
	Requests    *float64 `json:"requests_per_second"`
	P99         *float64 `json:"p99_seconds"` // null also without requests
	Writes      *float64 `json:"writes_per_second"`
	SyncP99     *float64 `json:"sync_p99_seconds"` // null also without syncs
	Failed      *float64 `json:"failed_per_second"`
	Connections *float64 `json:"connections"`
	CPU         *float64 `json:"cpu_cores"`
	Memory      *float64 `json:"memory_bytes"`
	DiskFree    *float64 `json:"disk_free_bytes"`
	Behind      *float64 `json:"behind_entries"`
	lag         string   // the same for people, with the time
}

type topJSON struct {
	Cluster string      `json:"cluster"`
	Leader  string      `json:"leader"`
	Term    uint64      `json:"term"`
	Health  turn.Health `json:"health"`
	Nodes   []topNode   `json:"nodes"`
}

func topOf(cl *turn.Cluster, n *turn.Node, before, now *sample) topNode {
	t := topNode{Node: n.ID, Role: "unreachable", lag: "-"}
	if n.Reachable {
		t.Role, t.lag = n.Role, behind(cl, n)
		t.DiskFree = new(float64(n.DiskFree))
		for i := range cl.Nodes {
			if l := &cl.Nodes[i]; l.ID == cl.Leader {
				t.Behind = new(float64(l.Applied - min(l.Applied, n.Applied)))
			}
		}
	}
	if now == nil {
		return t
	}
	t.Connections = new(now.sum("turnlog_resp_connections") + now.sum("turnlog_http_connections"))
	t.Memory = new(now.sum("process_resident_memory_bytes"))
	if before == nil {
		return t
	}
	const resp, http = "turnlog_resp_command_duration_seconds", "turnlog_http_request_duration_seconds"
	t.Requests = new(now.rate(before, resp, http))
	t.Writes = new(now.rate(before, "turnlog_writes_total"))
	t.Failed = new(now.rate(before, "turnlog_writes_overloaded_total", "turnlog_writes_unavailable_total",
		"turnlog_writes_unknown_outcome_total"))
	t.CPU = new(now.rate(before, "process_cpu_seconds_total"))
	for _, name := range []string{resp, http} {
		if p, ok := now.quantile(before, 0.99, name); ok && (t.P99 == nil || p > *t.P99) {
			t.P99 = &p
		}
	}
	if p, ok := now.quantile(before, 0.99, "turnlog_log_append_duration_seconds"); ok {
		t.SyncP99 = &p
	}
	return t
}

func showTop(a *cli.App, cl turn.Cluster, before, now map[string]*sample) error {
	view := topJSON{cl.ID, cl.Leader, cl.Term, cl.Health(), nil}
	for i := range cl.Nodes {
		n := &cl.Nodes[i]
		view.Nodes = append(view.Nodes, topOf(&cl, n, before[n.ID], now[n.ID]))
	}
	slices.SortFunc(view.Nodes, func(x, y topNode) int { return cmp.Compare(x.Node, y.Node) })
	if a.JSON {
		return a.WriteJSON(view)
	}
	if cli.IsTerminal(a.Stdout) {
		fmt.Fprint(a.Stdout, "\x1b[H\x1b[2J")
	}
	fmt.Fprintf(a.Stdout, "%s, term %d, level %d, %s\n\n", healthLines(cl, view.Health, "; "), cl.Term, cl.Level,
		time.Now().Format(time.TimeOnly))
	rows := [][]string{{"NODE", "ROLE", "REQUESTS/S", "P99", "WRITES/S", "SYNC P99", "FAILED/S", "CONNS", "BEHIND",
		"CPU", "MEMORY", "DISK FREE"}}
	for _, n := range view.Nodes {
		rows = append(rows, []string{n.Node, n.Role, figure("%.0f", 1, n.Requests), duration(n.P99),
			figure("%.0f", 1, n.Writes), duration(n.SyncP99), figure("%.1f", 1, n.Failed),
			figure("%.0f", 1, n.Connections), n.lag, figure("%.0f%%", 100, n.CPU),
			figure("%.0f MiB", 1.0/(1<<20), n.Memory), figure("%.1f GiB", 1.0/(1<<30), n.DiskFree)})
	}
	if err := a.Table(rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Stdout)
	return err
}

func figure(format string, unit float64, value *float64) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprintf(format, *value*unit)
}

func duration(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", *seconds*1e3)
}
