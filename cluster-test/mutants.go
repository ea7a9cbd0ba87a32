package main

import "slices"

// mutants returns the table of all mutants, family by family. README.md shows how often each is
// caught.
func mutants() []mutant {
	return slices.Concat(storageMutants(), restoredMutants(), portMutants(), stateMutants(), consensusMutants(), callsMutants(), pipelineMutants(), tailMutants(), accessMutants(), strangerMutants(), blockingMutants(), publishMutants(), windowMutants(), memberMutants())
}

// simulation is a catcher that takes a second, not ten, and shows more than one
// test made for a mutant: whatever goes wrong in a cluster.
func simulation(runs int) catcher {
	return catcher{Test: "TestSimulation", Runs: runs,
		Shows: []string{`session "`, "the state of", "lead in term", " is one on ", "believes that it lost", " stopped: ", "open n", "not within"}}
}

// verifyLeader has reads trust the library's way of confirming a leader.
var verifyLeader = edit{Old: "if index, ok := n.reads.index(p.Context); ok {",
	New: "if index := n.raft.Load().CommitIndex(); await(p.limited(), n.raft.Load().VerifyLeader()) == nil {"}
