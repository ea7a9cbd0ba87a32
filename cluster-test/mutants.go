package main

import "time"

// mutants returns the table of all mutants. README.md shows how often each is
// caught.
func mutants() []mutant {
	return []mutant{
		// The log, the state file and the power.
		{Name: "unsynced-log", About: "the log's records are written and never synced",
			Edits:    []edit{{Package: "wal", Old: "if err := l.timedSync(s.file); err != nil {", New: "if err := error(nil); err != nil {"}},
			Catchers: []catcher{{Package: "./wal", Test: "TestCrash", SeedFlag: "seed", Runs: 1}, simulation(3)}},
		{Name: "unsynced-state", About: "the state file is written and never synced",
			Edits:    []edit{{Package: "fsm", Old: "Timeout:         time.Second,\n", New: "Timeout:         time.Second,\n\t\tNoSync: true,\n"}},
			Catchers: []catcher{{Package: "./fsm", Test: "TestPowerCut", Runs: 1}}},
		{Name: "unsynced-blocks", About: "the files with the blocks of messages are written and never synced",
			Edits:    []edit{{Package: "fsm/blockfile", Old: "if err := s.file(n).Sync(); err != nil {", New: "if err := error(nil); err != nil {"}},
			Catchers: []catcher{{Package: "./fsm", Test: "TestPowerCut", Runs: 1}}},
		{Name: "checksums-ignored", About: "a record of the log is taken whatever its checksum says",
			Edits: []edit{{Package: "wal", Old: "if crc32.Update(seed, castagnoli, b[4:size]) != le.Uint32(b) {",
				New: "if crc32.Update(seed, castagnoli, b[4:size]) == 0 {"}},
			Catchers: []catcher{{Package: "./wal", Test: "TestRot", SeedFlag: "seed", Runs: 1}}},
		{Name: "damage-cut", About: "a log that is damaged in its middle is cut there",
			Edits:    []edit{{Package: "wal", Old: "\t} else if found {\n\t\treturn p.damage(c.segment", New: "\t} else if found && c == nil {\n\t\treturn p.damage(c.segment"}},
			Catchers: []catcher{{Package: "./wal", Test: "TestTornTailOrDamage", SeedFlag: "seed", Runs: 1}}},
		{Name: "log-errors-survived", About: "a node goes on after a failed write of its log",
			Edits:    []edit{{Package: "raftstore", Old: "\ts.halt(fmt.Errorf(\"raftstore: append to the log: %w\", err))\n", New: ""}},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestLogStoreFailsStop", Runs: 1}}},

		// The state machine.
		{Name: "index-ahead", About: "after a restart the state machine believes that it has applied one entry more",
			Edits:    []edit{{Package: "fsm", Old: "\tm, err := decodeMeta(state)\n", New: "\tm, err := decodeMeta(state)\n\tm.index++\n"}},
			Catchers: []catcher{{Package: "./fsm", Test: "TestPowerCut", Runs: 1}, simulation(10)}},
		{Name: "index-behind", About: "the state file says that it comprises one entry less than it does",
			Edits: []edit{{Package: "fsm", Old: "return b.Put(keyState, seal(stateVersion, keyState, w.table.meta.encode()))",
				New: "less := w.table.meta\n\tless.index--\n\treturn b.Put(keyState, seal(stateVersion, keyState, less.encode()))"}},
			Catchers: []catcher{{Package: "./fsm", Test: "TestPowerCut", Runs: 1}}},
		{Name: "tags-forgotten", About: "what commands were carried out is not in the state file, nor in snapshots",
			Edits:    []edit{{Package: "fsm", Old: "putSealed(b, keyTags, w.table.meta.tags)", New: "putSealed(b, keyTags, tags{}.encode())"}},
			Catchers: []catcher{{Package: "./fsm", Test: "TestPowerCut", Runs: 1}}},
		{Name: "removed-ids-forgotten", About: "the ids of removed messages are not in the state file, nor in snapshots",
			Edits:    []edit{{Package: "fsm", Old: `case r.id == "" || r.seq < windowStart(s.last):`, New: "case true:"}},
			Catchers: []catcher{{Package: "./fsm", Test: "TestAgainstModel", Runs: 1}}},
		{Name: "ids-forgotten", About: "a message id that is known is not recognised",
			Edits: []edit{{Package: "fsm", Old: "case known == 0:", New: "case known >= 0:"}},
			Catchers: []catcher{{Scenario: "lost-replies", Time: 6 * time.Second, Nemesis: "lost-replies", Workloads: "append,turns",
				Shows: []string{"two values", "doubled", "false duplicate"}, Runs: 3}, simulation(10)}},
		{Name: "conditions-ignored", About: "an append is carried out whatever its condition",
			Edits:    []edit{{Package: "fsm", Old: "if *expect == current {", New: "if *expect == current || true {"}},
			Catchers: []catcher{{Scenario: "calm", Time: 3 * time.Second, Workloads: "cas", Shows: []string{"condition"}, Runs: 3}, simulation(2)}},
		{Name: "wall-clock", About: "the state machine asks the computer for the time",
			Edits: []edit{
				{Package: "fsm", Old: "type position struct{ index, term uint64 }\n", New: "type position struct{ index, term uint64 }\n\nfunc wallClock() int64 { return time.Now().UnixMilli() }\n"},
				{Package: "fsm", Old: "max(m.meta.clock, e.Stamp)", New: "max(m.meta.clock, e.Stamp, wallClock())"}},
			Catchers: []catcher{{Scenario: "calm", Time: 3 * time.Second, Workloads: "append,ttl", Shows: []string{"states differ"}, Runs: 3}, simulation(6)}},
		{Name: "early-expiry", About: "sessions expire 400 ms before their time",
			Edits: []edit{{Package: "fsm", Old: "m.meta.clock+o.TTL, h.slide)", New: "m.meta.clock+max(o.TTL-400, 1), h.slide)"}},
			Catchers: []catcher{{Scenario: "calm", Time: 5 * time.Second, Workloads: "ttl", Shows: []string{"expired early"}, Runs: 2},
				{Package: "./fsm", Test: "TestAgainstModel", Runs: 1}}},
		{Name: "map-order", About: "the commands of an entry are carried out in the order of a map",
			Edits: []edit{{Package: "fsm", Old: "\tfor i, c := range e.Commands {\n",
				New: "\tshuffled := make(map[int]codec.Command)\n\tfor i, c := range e.Commands {\n\t\tshuffled[i] = c\n\t}\n\tfor i, c := range shuffled {\n"}},
			Catchers: []catcher{{Scenario: "calm", Time: 3 * time.Second, Workloads: "append,cas", Shows: []string{"states differ", "nodes differ", "two values"}, Runs: 3}, simulation(3)}},
		{Name: "dumps-unchecked", About: "a damaged snapshot is restored",
			Edits: []edit{
				{Package: "fsm", Old: "crc = crc32.Update(crc, castagnoli, buf); crc != want {", New: "crc = crc32.Update(crc, castagnoli, buf); buf == nil && want == 0 {"},
				{Package: "fsm", Old: "crc32.Update(crc, castagnoli, make([]byte, 4)) != want {", New: "buf == nil && want == 0 {"}},
			Catchers: []catcher{{Package: "./fsm", Test: "TestDamagedDumpIsRefused", Runs: 1}}},
		{Name: "indices-unchecked", About: "entries of the state file's indices are taken whatever their checksums say",
			Edits: []edit{{Package: "fsm", Old: "return unseal(sealedVersion, key, stored, \"index entry\")",
				New: "return stored[min(sealHeader, len(stored)):], nil"}},
			Catchers: []catcher{{Package: "./fsm", Test: "TestScrubFindsAFlippedBit", Runs: 1}}},
		{Name: "cache-overwritten", About: "memory of a block in the cache is written to",
			Edits:    []edit{{Package: "fsm", Old: "\t\t\tr.cache.add(ref, block)\n", New: "\t\t\tr.cache.add(ref, block)\n\t\t\tblock[len(block)-1] ^= 1\n"}},
			Catchers: []catcher{{Package: "./fsm", Test: "TestReadsSameWithAndWithoutCache", Shows: []string{"without"}, Runs: 1}}},
		{Name: "restore-errors-ignored", About: "a node goes on with its log after a snapshot could not be restored",
			Edits:    []edit{{Package: "raftstore", Old: "\t\tif err := s.restore(m); err != nil {\n\t\t\treturn err\n\t\t}\n", New: "\t\t_ = s.restore(m)\n"}},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestReceivedSnapshotAndCrashes", Runs: 1}}},

		// Consensus.
		{Name: "own-majority", About: "an entry counts as committed when one node has it",
			Edits: []edit{{Module: "github.com/hashicorp/raft", Package: ".",
				Old: "quorumMatchIndex := matched[(len(matched)-1)/2]", New: "quorumMatchIndex := matched[len(matched)-1]"}},
			Catchers: []catcher{{Scenario: "partitions", Time: 12 * time.Second, Nemesis: "partition-leader", Workloads: "append",
				Shows: []string{"lost", "two values", "nodes differ", "states differ", "real time"}, Runs: 3}, simulation(10)}},
		{Name: "commit-beyond-message", About: "a follower may apply entries that the leader never sent it",
			Edits:    []edit{{Package: "raftstore", Old: "\t\targs.LeaderCommitIndex = last\n", New: "\t\t_ = last\n"}},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestStaleSuffixIsNotApplied", Runs: 1}}},
		{Name: "unheld-acknowledgements", About: "a leader counts what others acknowledge before its own log is durable",
			Edits: []edit{{Package: "raftstore", Old: "return t.durable(args.Entries[len(args.Entries)-1].Index)", New: "return nil"}},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestNothingCommitsBeforeTheLeadersOwnLog",
				Shows: []string{"committed", "was answered before"}, Runs: 1}, simulation(20)}},
		{Name: "ahead-alone", About: "a leader that is the only voter commits what is not durable",
			Edits: []edit{{Package: "raftstore", Old: "a.term == 0 || a.voters < 2 || a.lost != nil", New: "a.term == 0 || a.lost != nil"}},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestNothingCommitsBeforeTheLeadersOwnLog",
				Shows: []string{"committed", "was answered before"}, Runs: 1}}},
		{Name: "term-before-log", About: "a deposed leader goes on to the next term before its log is durable",
			Edits: []edit{{Package: "raftstore", Old: "\ta.term, a.voters = 0, 0\n\ta.mu.Unlock()\n\ta.settle()\n", New: "\ta.term, a.voters = 0, 0\n\ta.mu.Unlock()\n"}},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestNoTermBeginsBeforeTheLogIsDurable",
				Shows: []string{"before its log is durable"}, Runs: 1}}},
		{Name: "heard-too-long", About: "a leader that steps down sends heartbeats until it has stored the new term",
			Edits:    []edit{{Package: "raftstore", Old: "if !t.leads() {", New: "if t.leads == nil {"}},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestALeaderWithAHangingDiskFallsSilent", Shows: []string{"another leader"}, Runs: 1}}},
		{Name: "old-clocks", About: "a new leader goes by what the others' clocks showed long ago",
			Edits:    []edit{{Package: "raftstore", Old: "n.askClocks(ctx, others)", New: "n.offsets.of(others, n.cfg.Clock.Now())"}},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestStaleOffsetsDoNotCount", Shows: []string{"cluster time is ahead"}, Runs: 3}}},
		{Name: "log-cut-meanwhile", About: "the log is cut as usual while a snapshot of before is on its way",
			Edits:    []edit{{Package: "raftstore", Old: "return n.snaps.sending.tail(usual)", New: "return usual"}},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestLogStaysWhileASnapshotIsSent", Shows: []string{"the log begins at"}, Runs: 1}}},
		{Name: "local-reads", About: "every node answers linearizable reads from its own state",
			Edits:    []edit{{Package: "raftstore", Old: "case turn.Stale:", New: "case turn.Stale, turn.Linearizable:"}},
			Catchers: []catcher{{Scenario: "calm", Time: 3 * time.Second, Workloads: "append,cas", Shows: []string{"real time"}, Runs: 3}, simulation(3)}},
		{Name: "unconfirmed-reads", About: "a leader answers reads without asking whether it still leads",
			Edits: []edit{{Package: "raftstore", Old: "if !r.confirm(ctx, term, changed, asked >= sparing) {", New: "if _ = changed; false {"}},
			Catchers: []catcher{{Scenario: "pauses", Time: 15 * time.Second, Nemesis: "pause-leader", Workloads: "append,cas",
				Shows: []string{"real time"}, Runs: 20},
				{Package: "./raftstore", Test: "TestLeaderAloneIsNotConfirmed", Shows: []string{"without a majority"}, Runs: 1}, simulation(12)}},
		{Name: "late-confirmation", About: "VerifyLeader confirms the leader: it counts answers to earlier questions",
			Edits:    []edit{verifyLeader},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestLateAnswersDoNotConfirmALeader", Shows: []string{"saw 1 messages"}, Runs: 3}}},
		{Name: "learners-confirm", About: "VerifyLeader confirms the leader: it counts the answers of nodes without a vote",
			Edits:    []edit{verifyLeader},
			Catchers: []catcher{{Package: "./raftstore", Test: "TestLearnersDoNotConfirmALeader", Shows: []string{"from an old state"}, Runs: 1}}},
		{Name: "wiped-let-in", About: "a node that lost its data is let in under its old name",
			Edits: []edit{{Package: "raftstore", Old: `known != "" && known != r.Incarnation`, New: `known == "never"`}},
			Catchers: []catcher{{Scenario: "wiped", Time: 10 * time.Second, Nemesis: "wiped", Workloads: "append", Shows: []string{"let in again"}, Runs: 5},
				{Package: "./raftstore", Test: "TestWipedNodeThatStartsAloneIsRefused", Shows: []string{" goes on", "it ends with"}, Runs: 1}}},

		// Calls.
		{Name: "applied-twice", About: "a command that was sent again after a change of leader is carried out again",
			Edits: []edit{{Package: "fsm", Old: "c.Origin != 0 && !m.tags.take(", New: "m.tags == nil && !m.tags.take("}},
			Catchers: []catcher{{Scenario: "leader-kill", Time: 15 * time.Second, Workloads: "append,turns",
				Shows: []string{"two values", "doubled"}, Runs: 20},
				{Package: "./raftstore", Test: "TestLostRepliesNeitherLoseNorDouble", Shows: []string{"message"}, Runs: 3}, simulation(20)}},
		{Name: "conflicts-foreseen", About: "the node that takes a conditional append refuses it by its own state, which may be behind",
			Edits: []edit{{Package: "raftstore", Old: "\tif err := ctx.Err(); err != nil {\n\t\treturn n.calls.failed(unavailable(",
				New: "\tif o, ok := op.(*turn.Append); ok && o.Expect != nil {\n" +
					"\t\tif r, err := n.state.Query(&turn.Info{Key: o.Key}); err == nil && r.Session != nil && r.Session.Revision != *o.Expect {\n" +
					"\t\t\treturn n.calls.failed(&turn.Error{Kind: turn.Conflict, Revision: r.Session.Revision})\n\t\t}\n\t}\n" +
					"\tif err := ctx.Err(); err != nil {\n\t\treturn n.calls.failed(unavailable("}},
			Catchers: []catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "cas", Shows: []string{"false refusal", "revision", "real time"}, Runs: 5}, simulation(5)}},
		{Name: "client-without-ids", About: "the Go client sends appends again that it gave no ids",
			Edits: []edit{{Package: "client", Old: "\tmessages = s.c.withIDs(messages)\n\top := &turn.Append{", New: "\top := &turn.Append{"}},
			Catchers: []catcher{{Scenario: "lost-replies", Time: 6 * time.Second, Nemesis: "lost-replies", Workloads: "append",
				Shows: []string{"two values", "doubled"}, Runs: 5},
				{Package: "./client", Test: "TestLostRepliesStoreOnce", Runs: 1}}},

		// Tails.
		{Name: "stream-skips", About: "a stream of events leaves out each message after the last one of a page",
			Edits: []edit{{Package: "server/httpapi", Old: "st.after = m.Seq", New: "st.after = m.Seq + 1"}},
			Catchers: []catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "tail", Shows: []string{"gap"}, Runs: 3},
				{Package: "./server/httpapi", Test: "TestStreamOfManyMessages", Runs: 1}}},
		{Name: "tail-repeats", About: "the Go client's tail goes on with the last message that it has shown",
			Edits: []edit{{Package: "client", Old: "\t\tt.after = m.Seq\n\t\tif !t.yield", New: "\t\tt.after = m.Seq - 1\n\t\tif !t.yield"}},
			Catchers: []catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "tail", Shows: []string{"gap"}, Runs: 3},
				{Package: "./client", Test: "TestTailResumes", Runs: 1}}},
	}
}

// simulation is a catcher that takes a second, not ten, and shows more than one
// test made for a mutant: whatever goes wrong in a cluster.
func simulation(runs int) catcher {
	return catcher{Package: "./raftstore", Test: "TestSimulation", Runs: runs,
		Shows: []string{`session "`, "the state of", " stopped: ", "open n", "not within"}}
}

// verifyLeader has reads trust the library's way of confirming a leader.
var verifyLeader = edit{Package: "raftstore", Old: "if index, ok := n.reads.index(p.Context); ok {",
	New: "if index := n.raft.Load().CommitIndex(); await(p.limited(), n.raft.Load().VerifyLeader()) == nil {"}
