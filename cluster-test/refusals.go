package main

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/nemesis"
	"github.com/turnlog/turnlog/internal/lincheck"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// refusalsAfter is how long after a fault calls may fail because of it: the disks of other nodes
// are asked every few seconds, and what a node is not told of is forgotten later.
const refusalsAfter = 20 * time.Second

// refusals returns the errors with which calls may fail under what was done to the
// cluster: some whenever there are faults, some because of one fault and about the time of it. In calm there are
// none, unless the machine stalled, so that the nodes could not tell the leader from one that is gone.
func (s *Scenario) refusals(h *history.History, stalled []stall) []lincheck.Refusal {
	allowed := []lincheck.Refusal{}
	allow := func(from, to int64, kinds ...turn.Kind) {
		for _, k := range kinds {
			allowed = append(allowed, lincheck.Refusal{Code: k.String(), From: from, To: to})
		}
	}
	if len(s.Nemesis) > 0 || s.Drive != nil || s.Alone != nil {
		allow(0, history.Forever, turn.Unavailable, turn.Unknown)
	}
	for _, x := range stalled {
		allow(int64(x.from), int64(x.to+refusalsAfter), turn.Unavailable, turn.Unknown)
	}
	kinds := map[string][]turn.Kind{}
	for _, f := range nemesis.All() {
		kinds[f.Name] = f.Refuses
	}
	for _, m := range h.Faults() {
		allow(m.Begin, m.End+int64(refusalsAfter), kinds[m.Name]...)
	}
	return allowed
}
