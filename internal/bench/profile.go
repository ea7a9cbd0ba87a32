package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sync/errgroup"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/measure"
	"github.com/turnlog/turnlog/internal/bench/target"
)

// Profile tells where the nodes of a target spent processor time under a load.
type Profile struct {
	Workload string        `json:"workload"`
	Clients  int           `json:"clients"`
	Nodes    []NodeProfile `json:"nodes"` // the leader first
}

// NodeProfile is the processor time of one node.
type NodeProfile struct {
	Elapsed    time.Duration                `json:"elapsed_ns"`
	Components map[Component]ComponentShare `json:"components"`
}

// ComponentShare is what one component used.
type ComponentShare struct {
	Total  time.Duration `json:"total_ns"`
	System time.Duration `json:"system_ns"` // of Total, in system calls
}

// Profiled runs a workload and profiles the nodes of the target meanwhile.
func Profiled(ctx context.Context, t target.Target, w Workload, cfg Config, live *generator.Live) (*Profile, error) {
	if len(t.Profiles) == 0 {
		return nil, fmt.Errorf("%s: it is not known where to ask for profiles", t.Name)
	}
	seconds := max(int(cfg.Duration/time.Second), 1)
	cfg.Duration = time.Duration(seconds) * time.Second
	p := &Profile{Workload: w.Name, Clients: cfg.Clients, Nodes: make([]NodeProfile, len(t.Profiles))}
	var all errgroup.Group
	begin := time.Now().Add(cfg.WarmUp)
	for i, addr := range t.Profiles {
		all.Go(func() (err error) {
			if measure.SleepUntil(ctx, begin) {
				p.Nodes[i], err = profileNode(ctx, addr, seconds)
			}
			return err
		})
	}
	_, err := Run(ctx, t, w, cfg, live)
	if profiling := all.Wait(); err == nil {
		err = profiling
	}
	return p, err
}

// profileNode profiles the process that serves its profiles at addr.
func profileNode(ctx context.Context, addr string, seconds int) (n NodeProfile, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, seconds), nil)
	if err != nil {
		return n, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return n, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return n, fmt.Errorf("%s: %s", req.URL, res.Status)
	}
	raw, err := profile.Parse(res.Body)
	if err != nil {
		return n, fmt.Errorf("%s: %w", req.URL, err)
	}
	return summarize(raw), nil
}

// summarize adds up a profile of processor time by components.
func summarize(raw *profile.Profile) NodeProfile {
	n := NodeProfile{Elapsed: time.Duration(raw.DurationNanos), Components: make(map[Component]ComponentShare)}
	for _, s := range raw.Sample {
		component, system := componentOf(s)
		spent := time.Duration(s.Value[len(s.Value)-1]) // after the number of samples comes their time
		share := n.Components[component]
		share.Total += spent
		if system {
			share.System += spent
		}
		n.Components[component] = share
	}
	return n
}

// profileTables shows profiles: a table for each workload, with two columns, the
// leader and the other nodes together, for each number of clients.
func profileTables(all []*Profile) []Table {
	var tables []Table
	for _, p := range all {
		if n := len(tables); n == 0 || tables[n-1].Title != profileTitle(p) {
			t := Table{Title: profileTitle(p), Header: []string{"component"}}
			for _, component := range components() {
				t.Rows = append(t.Rows, []string{string(component)})
			}
			t.Rows = append(t.Rows, []string{"all, of one processor"})
			tables = append(tables, t)
		}
		t := &tables[len(tables)-1]
		for i, who := range []string{"leader", "followers"} {
			nodes := p.Nodes[:1]
			if i > 0 {
				nodes = p.Nodes[1:]
			}
			t.Header = append(t.Header, fmt.Sprintf("%d: %s", p.Clients, who))
			for k, cell := range componentCells(nodes) {
				t.Rows[k] = append(t.Rows[k], cell)
			}
		}
	}
	return tables
}

func profileTitle(p *Profile) string {
	return fmt.Sprintf("%s: processor time of the nodes by component, in %%, and of that in system calls, by number "+
		"of clients", p.Workload)
}

// componentCells returns what each component used of what some nodes used together, and how
// much that was per node.
func componentCells(nodes []NodeProfile) []string {
	sum := make(map[Component]ComponentShare)
	total, elapsed := time.Duration(0), time.Duration(0)
	for _, n := range nodes {
		elapsed += n.Elapsed
		for component, s := range n.Components {
			sum[component] = ComponentShare{sum[component].Total + s.Total, sum[component].System + s.System}
			total += s.Total
		}
	}
	var cells []string
	for _, component := range components() {
		s := sum[component]
		cells = append(cells, fmt.Sprintf("%.1f (%.1f)", 100*ratio(s.Total, total), 100*ratio(s.System, total)))
	}
	return append(cells, fmt.Sprintf("%.0f %%", 100*ratio(total, elapsed)))
}
