package main

// family is mutants that break something of one kind.
type family struct {
	about   string
	mutants []mutant
}

func families() []family {
	return []family{
		{"The log and what is synced", logMutants()},
		{"What a node lost and still promised", lossMutants()},
		{"Damage, and what checks for it", damageMutants()},
		{"Repair, and states put in place of others", repairMutants()},
		{"States that come from another node", restoreMutants()},
		{"Disk space", spaceMutants()},
		{"Gaps between elements", gapsMutants()},
		{"What an entry may cost", costMutants()},
		{"Ids of messages", idsMutants()},
		{"Transactions that take place as a whole", transactionMutants()},
		{"The state machine", stateMutants()},
		{"Deadlines and the time", timeMutants()},
		{"Consensus", consensusMutants()},
		{"Order across a change of leader", orderMutants()},
		{"Members that come and go", joiningMutants()},
		{"Reads", readsMutants()},
		{"An older copy of a node's data", restoredMutants()},
		{"The port of the cluster", portMutants()},
		{"Calls from node to node", callsMutants()},
		{"Pipelines", pipelineMutants()},
		{"Tails", tailMutants()},
		{"Users and certificates", accessMutants()},
		{"Strangers", strangerMutants()},
		{"Clients that block", blockingMutants()},
		{"Channels", publishMutants()},
		{"The window of ids", windowMutants()},
		{"Members", memberMutants()},
		{"What callers are told", answersMutants()},
		{"The Go client", clientMutants()},
		{"Commands of Redis", redisMutants()},
		{"Calls in flight, and requests", tableMutants()},
	}
}

// mutants returns all mutants. MUTANTS.md shows how often each is caught.
func mutants() (all []mutant) {
	for _, f := range families() {
		all = append(all, f.mutants...)
	}
	return all
}

// simulation is a catcher that takes a second, not ten, and shows more than one
// test made for a mutant: whatever goes wrong in a cluster.
func simulation(runs int) catcher {
	return catcher{Test: "TestSimulation", Runs: runs,
		Shows: []string{`session "`, "the state of", "lead in term", " is one on ", "believes that it lost",
			" stopped: ", "open n", "not within"}}
}

// verifyLeader has reads trust the library's way of confirming a leader.
var verifyLeader = edit{Old: "\treturn n.reads.Query(ctx, q, c)\n", New: `	if leader, _ := n.lead.leader(); leader == n.id {
		r, index := n.raft.Load(), n.raft.Load().CommitIndex()
		limited, cancel := context.WithTimeout(ctx, n.cfg.Calls.LeaderWait)
		defer cancel()
		if await(limited, r.VerifyLeader()) == nil && n.state.WaitApplied(limited, index) == nil {
			return n.state.Query(q)
		}
	}
	return n.reads.Query(ctx, q, c)
`}
