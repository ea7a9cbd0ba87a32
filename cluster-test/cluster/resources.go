package cluster

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// Resources is what a node holds.
type Resources struct{ Goroutines, Files, Resident int64 }

// Resources asks the node what it holds.
func (n *Node) Resources(ctx context.Context) (Resources, error) {
	r := Resources{Resident: n.ResidentBytes()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.HTTPAddr+"/metrics", nil)
	if err != nil {
		return r, err
	}
	resp, err := tester.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		var v float64
		if _, err := fmt.Sscanf(in.Text(), "go_goroutines %g", &v); err == nil {
			r.Goroutines = int64(v)
		}
		if _, err := fmt.Sscanf(in.Text(), "process_open_fds %g", &v); err == nil {
			r.Files = int64(v)
		}
	}
	return r, in.Err()
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
