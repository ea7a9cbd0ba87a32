package mutants

import "github.com/turnlog/turnlog/cluster-test/mutation"

// simulation is a catcher that takes a second, not ten, and shows more than one
// test made for a mutant: whatever goes wrong in a cluster.
func simulation(runs int) mutation.Catcher {
	return mutation.Catcher{Test: "TestSimulation", Runs: runs,
		Shows: []string{`session "`, "the state of", "lead in term", " is one on ", "believes that it lost",
			" stopped: ", "open n", "not within"}}
}

// verifyLeader has reads trust the library's way of confirming a leader.
var verifyLeader = mutation.Edit{Old: "\treturn n.reads.Query(ctx, q, c)\n",
	New: `	if leader, _ := n.lead.Leader(); leader == n.id {
		r, index := n.raft.Load(), n.raft.Load().CommitIndex()
		limited, cancel := context.WithTimeout(ctx, n.cfg.Calls.LeaderWait)
		defer cancel()
		verified := make(chan error, 1)
		go func() { verified <- r.VerifyLeader().Error() }()
		select {
		case err := <-verified:
			if err == nil && n.data.State.WaitApplied(limited, index) == nil {
				return n.data.State.Query(q)
			}
		case <-limited.Done():
		}
	}
	return n.reads.Query(ctx, q, c)
`}
