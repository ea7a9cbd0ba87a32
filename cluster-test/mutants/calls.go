package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// callsMutants break calls, and what becomes of them.
func callsMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "applied-twice", About: "a command that was sent again after a change of leader is carried out again",
			Edits: []mutation.Edit{{Old: "c.Origin != 0 && !m.tags.Take(", New: "m.tags == nil && !m.tags.Take("}},
			Catchers: []mutation.Catcher{{Scenario: "leader-kill", Time: 15 * time.Second, Workloads: "append,turns",
				Shows: []string{"two values", "doubled"}, Runs: 20},
				{Test: "TestLostRepliesNeitherLoseNorDouble", Shows: []string{"message"}, Runs: 3}, simulation(20)}},
		{Name: "conflicts-foreseen",
			About: "the node that takes a conditional append refuses it by its own state, which may be behind",
			Edits: []mutation.Edit{{Old: "\tif err := ctx.Err(); err != nil {\n" +
				"\t\treturn n.writes.calls.Failed(unavailable(",
				New: "\tif o, ok := op.(*turn.Append); ok && o.Expect != nil {\n" +
					"\t\tif r, err := n.data.State.Query(&turn.Info{Key: o.Key}); err == nil && r.Session != nil && " +
					"r.Session.Revision != *o.Expect {\n" +
					"\t\t\treturn n.writes.calls.Failed(&turn.Error{Kind: turn.Conflict, Revision: " +
					"r.Session.Revision})\n\t\t}\n\t}\n" +
					"\tif err := ctx.Err(); err != nil {\n\t\treturn n.writes.calls.Failed(unavailable("}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "cas",
				Shows: []string{"false refusal", "revision", "real time"}, Runs: 5}, simulation(5)}},
		{Name: "locks-foreseen",
			About: "the node that takes a SET with NX refuses it by its own state, which may be behind",
			Edits: []mutation.Edit{{Old: "\tif err := ctx.Err(); err != nil {\n" +
				"\t\treturn n.writes.calls.Failed(unavailable(",
				New: "\tif o, ok := op.(*turn.SetString); ok && o.If == turn.SetIfAbsent {\n" +
					"\t\tif r, err := n.data.State.Query(&turn.GetString{Key: o.Key}); err == nil && r.Found {\n" +
					"\t\t\treturn n.writes.calls.Failed(nil)\n\t\t}\n\t}\n" +
					"\tif err := ctx.Err(); err != nil {\n\t\treturn n.writes.calls.Failed(unavailable("}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 8 * time.Second, Workloads: "values",
				Shows: []string{"not linearizable"}, Runs: 5}}},
		{Name: "rejected-call-waits",
			About: "a call that a new leader rejects, and that was sent in an earlier term, waits for an outcome " +
				"that does not come",
			Edits: []mutation.Edit{{In: "(*Calls).refuseLocked", Old: "0, why, final", New: "0, why, false && final"},
				{In: "(*Calls).refuseLocked", Old: "case c.lastTerm < t.passed:", New: "case false:"}},
			Catchers: []mutation.Catcher{{Test: "TestRejectedCallEndsWhenItsAttemptsAreDecided", Runs: 1}}},
		{Name: "forwarded-call-waits",
			About: "a follower does not know in which term it sent a call, and lets it wait when the next leader " +
				"rejects it",
			Edits: []mutation.Edit{{In: "forwarding.Leader", Old: "_, term, _ = f.raft.State()",
				New: "term = 1 << 62"}},
			Catchers: []mutation.Catcher{{Test: "TestForwardedCallThatTheNextLeaderRejectsEnds", Runs: 1}}},
		{Name: "unproposed-call-waits",
			About: "a call that a leader refuses to propose, and that was sent in an earlier term, waits for ever",
			Edits: []mutation.Edit{{In: "(*Calls).resolveLocked", Old: "o.Number == unproposed && c.attempt",
				New: "false && c.attempt"}, {In: "(*Calls).resolveLocked", Old: "unproposed = o.Number",
				New: "_ = unproposed"}},
			Catchers: []mutation.Catcher{{Test: "TestCallRefusedUnproposedEndsWhenItsAttemptsAreDecided", Runs: 1}}},
		{Name: "late-refusal-counts",
			About: "what a leader refused unproposed ends the attempt that is on its way to the next one",
			Edits: []mutation.Edit{{
				In: "(*Calls).resolveLocked", Old: "c.attempt == of.gen", New: "c.attempt == t.gen"}},
			Catchers: []mutation.Catcher{{Test: "TestLateRefusalLeavesThePresentAttempt", Runs: 1}}},
		{Name: "refused-call-falls-behind",
			About: "a call that a leader refused unproposed takes place behind one that followed it",
			Edits: []mutation.Edit{{In: "(*Calls).rewind", Old: "c.number+1 < t.cursor",
				New: "c.number+1 > t.cursor"}},
			Catchers: []mutation.Catcher{{Test: "TestRefusedCallDoesNotFallBehind", Runs: 1}}},
		{Name: "refused-batch-unknown",
			About:    "calls of a batch that was refused as a whole end with an unknown outcome",
			Edits:    []mutation.Edit{{In: "(*Calls).rewind", Old: "c.rejected && c.alone", New: "c.rejected"}},
			Catchers: []mutation.Catcher{{Test: "TestRefusedBatchIsSentAgain", Runs: 1}}},
		{Name: "infos-local", About: "what a node tells of a session beside its messages is its own state's",
			Edits: []mutation.Edit{{Old: "\treturn r.linearizable(d, q)\n",
				New: "\tif _, ok := q.(*turn.Info); ok {\n\t\tif res, elsewhere, err := r.answer(d.Context, q); " +
					"!elsewhere {\n\t\t\treturn res, err\n\t\t}\n\t}\n\treturn r.linearizable(d, q)\n"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 6 * time.Second, Workloads: "forks",
				Shows: []string{"not linearizable"}, Runs: 3}}},
		{Name: "client-without-ids", About: "the Go client sends appends again that it gave no ids",
			Edits: []mutation.Edit{{Old: "\tmessages = s.c.withIDs(messages)\n\top := &turn.Append{",
				New: "\top := &turn.Append{"}},
			Catchers: []mutation.Catcher{{Scenario: "lost-replies", Time: 6 * time.Second, Nemesis: "lost-replies",
				Workloads: "append",
				Shows:     []string{"two values", "doubled"}, Runs: 5},
				{Test: "TestLostRepliesStoreOnce", Runs: 1}}},
	}
}
