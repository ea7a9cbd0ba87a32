package mutants

import "github.com/turnlog/turnlog/cluster-test/mutation"

// clientMutants break the Go client.
func clientMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "caller-blames-network",
			About: "a call that its caller gave up blames the node for not answering",
			Edits: []mutation.Edit{{Old: "return ctx.Err() != nil || errors.Is(err, ErrClosed)",
				New: "return ctx == nil && errors.Is(err, ErrClosed)"}},
			Catchers: []mutation.Catcher{{Test: "TestGivenUpByTheCaller", Runs: 1},
				{Test: "TestClosedClient", Runs: 1}}},
		{Name: "forbidden-settles", About: "a write without an answer counts as refused when its repetition is",
			Edits: []mutation.Edit{{In: "settle", Old: "case turn.NotFound,",
				New: "case turn.Forbidden, turn.NotFound,"}},
			Catchers: []mutation.Catcher{{Test: "TestSettle", Runs: 1}}},
		{Name: "clear-repeated", About: "the client repeats a clear without an answer",
			Edits: []mutation.Edit{{Old: `vClear:   {"TURN.CLEAR", never}`,
				New: `vClear: {"TURN.CLEAR", identified}`}},
			Catchers: []mutation.Catcher{{Test: "TestRepeatedVerbs", Runs: 1}}},
		{Name: "unsent-miscounted", About: "a request that was written counts as unsent when the connection ends",
			Edits:    []mutation.Edit{{Old: "i < len(c.waiting)-c.unsent", New: "i+1 < len(c.waiting)-c.unsent"}},
			Catchers: []mutation.Catcher{{Test: "TestUnsentRequests", Runs: 1}}},
		{Name: "lagging-node-begins-again", About: "a tail takes a node that lags for another session",
			Edits: []mutation.Edit{{Old: "known && h.Incarnation == t.incarnation && h.Last < t.after",
				New: "false"}},
			Catchers: []mutation.Catcher{{Test: "TestTailTakes", Runs: 1}}},
		{Name: "earlier-session-tailed", About: "a tail yields messages of the session before, from a node that lags",
			Edits:    []mutation.Edit{{Old: "if h.Incarnation < t.incarnation ||", New: "if"}},
			Catchers: []mutation.Catcher{{Test: "TestTailTakes", Runs: 1}}},
		{Name: "failed-leader-chosen", About: "the client sends requests to a leader that does not answer",
			Edits:    []mutation.Edit{{Old: "if r.leader == n {", New: "if r.leader == n && r.closed {"}},
			Catchers: []mutation.Catcher{{Test: "TestLeaderIsAskedFor", Runs: 1}}},
		{Name: "ttl-rounded-down", About: "the client cuts a fraction of a millisecond off a ttl",
			Edits:    []mutation.Edit{{In: "millis", Old: "d > 0 &&", New: "d < 0 &&"}},
			Catchers: []mutation.Catcher{{Test: "TestRounding", Runs: 1}}},
		{Name: "trace-answers-call", About: "the answer to what names a call's trace is taken for the call's own",
			Edits:    []mutation.Edit{{Old: "calls[len(calls)-1].wait(ctx)", New: "calls[0].wait(ctx)"}},
			Catchers: []mutation.Catcher{{Test: "TestTraceparent", Runs: 1}}},
		{Name: "busy-connection-shared", About: "the client sends requests over the connection with the most of them",
			Edits:    []mutation.Edit{{Old: "best == nil || l < load", New: "best == nil || l > load"}},
			Catchers: []mutation.Catcher{{Test: "TestConnectionsAreShared", Runs: 1}}},
	}
}
