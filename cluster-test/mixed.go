package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// A mixed run has nodes of two versions from its start to its end, and nothing else of
// it changes: what the newer one does differently must wait until the older ones are
// gone, or the nodes' states differ at the end.

// mix makes the scenario a mixed one if this run is to be, and can be: half of those of a
// group are.
func (a *arguments) mix(s Scenario, seed uint64) Scenario {
	if !a.byChoice(a.mixing, "", &s, seed, 2) {
		return s
	}
	if mixed, ok := s.mixed(); ok {
		return mixed
	}
	return s
}

// beyondOld are faults in which the older version may do what is no longer accepted, or has
// to be removed and added again: without it the level rises, and it is rejected for good. Demoting takes level 2.
func beyondOld() []string {
	return append(damages(), "disk-low", "disks-low", "disk-full", "lying-disk", "bit-error", "short-read", "replaced",
		"leader-removed", "demoted")
}

// newerWorkloads are workloads that the older version does not support: the calls of pipelines could
// change order, and the others need level 2 or 3.
func newerWorkloads() []string {
	return []string{"pipeline", "whole", "moves", "renames", "edits", "labels", "sets", "ranges"}
}

// mixed returns the scenario with nodes of two versions, if there can be one: there
// are no older nodes with wrong clocks, or with damage, and they give no backups.
func (s Scenario) mixed() (Scenario, bool) {
	if s.Upgrade || s.Clocks || s.Alone != nil || s.After != nil || s.Nodes < 2 {
		return s, false
	}
	faults := slices.DeleteFunc(slices.Clone(s.Nemesis),
		func(name string) bool { return slices.Contains(beyondOld(), name) })
	if len(s.Nemesis) > 0 && len(faults) == 0 {
		return s, false
	}
	s.Mixed, s.Nemesis = true, faults
	s.Workloads = slices.DeleteFunc(slices.Clone(s.Workloads),
		func(name string) bool { return slices.Contains(newerWorkloads(), name) })
	s.Must = slices.DeleteFunc(slices.Clone(s.Must),
		func(what string) bool { return what == "read-only" || what == "damage noticed" })
	return s, true
}

// useOld gives the older version to all nodes that are upgraded later, or to some that
// stay with it.
func (r *run) useOld() error {
	var old []*cluster.Node
	switch {
	case r.Upgrade:
		old = r.cluster.Nodes
	case r.Mixed:
		rnd := rand.New(rand.NewPCG(r.seed, 5))
		for _, i := range rnd.Perm(r.Nodes)[:1+rnd.IntN(r.Nodes-1)] {
			old = append(old, r.cluster.Nodes[i])
		}
		r.report.Show("%s", olderNodes(old))
	}
	for _, n := range old {
		n.Use(r.old)
	}
	if len(old) > 0 && r.cluster.Security != nil {
		return r.cluster.Security.WriteAsBefore()
	}
	return nil
}

func olderNodes(old []*cluster.Node) string {
	var names []string
	for _, n := range old {
		names = append(names, n.ID)
	}
	slices.Sort(names)
	return fmt.Sprintf("of the older version: %s", strings.Join(names, ", "))
}
