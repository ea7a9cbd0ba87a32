package cluster

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Resources is what a node's process uses: goroutines, open files, and resident bytes.
type Resources struct{ Goroutines, Files, Resident int64 }

// Resources asks the node for its Resources.
func (n *Node) Resources(ctx context.Context) (Resources, error) {
	r := Resources{Resident: n.ResidentBytes()}
	m, err := n.Metrics(ctx, "go_goroutines", "process_open_fds")
	if err == nil {
		r.Goroutines, r.Files = int64(m[0]), int64(m[1])
	}
	return r, err
}

// Metrics asks the node for some of its metrics, by their whole names, labels included.
func (n *Node) Metrics(ctx context.Context, names ...string) ([]float64, error) {
	req, err := n.Request(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := n.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	values := make([]float64, len(names))
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		name, value, _ := strings.Cut(in.Text(), " ")
		if i := slices.Index(names, name); i >= 0 {
			if values[i], err = strconv.ParseFloat(value, 64); err != nil {
				return nil, err
			}
		}
	}
	return values, in.Err()
}

// ResidentBytes is how much memory the process has, 0 where that is not known.
func (n *Node) ResidentBytes() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}
