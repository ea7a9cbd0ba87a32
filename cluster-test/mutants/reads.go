package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// readsMutants have reads show what is not, or no longer, so.
func readsMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "times-shifted", About: "a read by time begins behind the first message of its range",
			Edits:    []mutation.Edit{{In: "firstSince", Old: "time < t", New: "time <= t"}},
			Catchers: []mutation.Catcher{{Test: "TestReadsByTime", Runs: 1}}},
		{Name: "times-walked", About: "a read by time walks through all messages before its range",
			Edits:    []mutation.Edit{{In: "firstSince", Old: "low + (high-low)/2", New: "low"}},
			Catchers: []mutation.Catcher{{Test: "TestReadByTimeProbesFew", Runs: 1}}},
		{Name: "whole-ignored", About: "a number of messages is cut between a tool call and its result",
			Edits:    []mutation.Edit{{In: "budgeted", Old: "q.Whole ||", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestWholeReads", Runs: 1}}},
		{Name: "last-look-at-home", About: "a blocking pop whose time is over answers by the state of its own node",
			Edits:    []mutation.Edit{{In: "(*taking).run", Old: "index = 0", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestBlockingPopLooksOnceMore", Runs: 1}}},
		{Name: "ended-halts-answer", About: "a query that met a halt is answered with it if the halt has ended since",
			Edits: []mutation.Edit{{In: "(*Machine).Query", Old: "errors.Is(err, ErrHalted)",
				New: "errors.Is(err, ErrHalted) && false"}},
			Catchers: []mutation.Catcher{{Test: "TestHaltThatEndsIsNoAnswer",
				Shows: []string{"UNAVAILABLE: this node's state is damaged"}, Runs: 3}}},
		{Name: "local-reads", About: "every node answers linearizable reads from its own state",
			Edits: []mutation.Edit{{In: "(*Reader).query", Old: "case turn.Stale:",
				New: "case turn.Stale, turn.Linearizable:"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 3 * time.Second, Workloads: "append,cas",
				Shows: []string{"real time"}, Runs: 3}, simulation(3)}},
		{Name: "unconfirmed-reads", About: "a leader answers reads without asking whether it still leads",
			Edits: []mutation.Edit{{Old: "if !l.confirm(ctx, term, changed, asked >= spareFrom) {",
				New: "if _ = changed; false {"}},
			Catchers: []mutation.Catcher{{Scenario: "pauses", Time: 15 * time.Second, Nemesis: "pause-leader",
				Workloads: "append,cas",
				Shows:     []string{"real time"}, Runs: 20},
				{Test: "TestLeaderAloneIsNotConfirmed", Shows: []string{"without a majority"}, Runs: 1},
				simulation(12)}},
		{Name: "minority-confirms",
			About: "one voter of five beside the leader is enough to confirm it, and of three none",
			Edits: []mutation.Edit{{Old: "return (others + 1) / 2\n", New: "return others / 3\n"}},
			Catchers: []mutation.Catcher{{Test: "TestLeaderAloneIsNotConfirmed", Shows: []string{"without a majority"},
				Runs: 1},
				{Test: "TestMajority", Runs: 1}}},
		{Name: "malformed-answers-read", About: "an answer to a confirmation that is cut off ends the leader's process",
			Edits: []mutation.Edit{{In: "confirmed", Old: "len(answer) == confirmBytes &&",
				New: "len(answer) >= 8 &&"}},
			Catchers: []mutation.Catcher{{Test: "TestConfirmation", Runs: 1}}},
		{Name: "own-read-index", About: "a leader that is about to know of it asks itself for a read index, as a " +
			"follower would",
			Edits: []mutation.Edit{{In: "(*followerIndexes).round", Old: `leader == "" || leader == f.self`,
				New: `leader == ""`}},
			Catchers: []mutation.Catcher{{Test: "TestNoReadIndexWithoutAnotherLeader", Runs: 1}}},
		{Name: "late-confirmation", About: "VerifyLeader confirms the leader: it counts answers to earlier questions",
			Edits: []mutation.Edit{verifyLeader},
			Catchers: []mutation.Catcher{{Test: "TestLateAnswersDoNotConfirmALeader", Shows: []string{"saw 1 messages"},
				Runs: 3}}},
		{Name: "learners-confirm",
			About: "VerifyLeader confirms the leader: it counts the answers of nodes without a vote",
			Edits: []mutation.Edit{verifyLeader},
			Catchers: []mutation.Catcher{{Test: "TestLearnersDoNotConfirmALeader", Shows: []string{"from an old state"},
				Runs: 1}}},
	}
}
