package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/report"
	"github.com/turnlog/turnlog/internal/lincheck/history"
)

const watchInterval = 100 * time.Millisecond

// watchLeader notes every new leader until ctx ends. One that was elected again is one, too: it may have been dead
// meanwhile, and be back before the others had elected another.
func watchLeader(ctx context.Context, c *cluster.Cluster, rec *history.Recorder) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	var last *cluster.Node
	var lastTerm uint64
	for {
		if n, term := c.Leadership(ctx); n != nil && (n != last || term != lastTerm) {
			rec.Note(n.ID, fmt.Sprintf("%s %s", report.LeaderNote, n.ID))
			last, lastTerm = n, term
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// watchQuorum notes until ctx ends when the faults leave no quorum, and when there is one again.
func watchQuorum(ctx context.Context, c *cluster.Cluster, rec *history.Recorder) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for had := true; ; {
		switch has := c.Quorum(); {
		case had && !has:
			rec.Note("all", report.QuorumGoneNote)
			had = false
		case has && !had:
			rec.Note("all", report.QuorumBackNote)
			had = true
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// signs are messages in the nodes' logs that tell of events which a long run
// has to have seen: it would otherwise not have tried what it is there for. Each has
// one of some texts.
var signs = map[string][]string{
	"snapshot installs": {"snapshot installed"},
	"snapshots taken":   {"snapshot taken"},
	"torn tails":        {"the log ended in an incomplete batch"},
	"damage refused":    {advice},
	"damage noticed": {advice, "stored data is damaged", "the state cannot be opened", "the log is damaged",
		"older copy", "using its second copy", "using the other one"},
	"losses made good": {"the log has recovered what it had lost"},
}

// advice is a part of what a node says that cannot go on with its data.
const advice = "add it a"

// sometimes counts the signs.
func (r *run) sometimes() map[string]float64 {
	counts := map[string]float64{}
	for _, n := range r.cluster.Nodes {
		f, err := os.Open(n.Log)
		if err != nil {
			continue
		}
		in := bufio.NewScanner(f)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			for name, texts := range signs {
				if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(in.Text(), text) }) {
					counts[name]++
				}
			}
		}
		f.Close()
	}
	return counts
}
