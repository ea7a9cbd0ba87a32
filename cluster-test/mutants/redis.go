package mutants

import "github.com/turnlog/turnlog/cluster-test/mutation"

// redisMutants break commands of Redis.
func redisMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "pattern-excludes-its-end", About: "a range in a pattern leaves out its last byte",
			Edits:    []mutation.Edit{{In: "matchSet", Old: "lo <= b && b <= hi", New: "lo <= b && b < hi"}},
			Catchers: []mutation.Catcher{{Test: "TestMatch", Runs: 1}}},
		{Name: "payload-memory-shared", About: "the next request is read over the payloads of a large one",
			Edits:    []mutation.Edit{{In: "(*Request).payloads", Old: "req.Client.Detach()", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestPayloadsStay", Runs: 1}}},
		{Name: "small-payload-shared", About: "the next request is read over a string",
			Edits:    []mutation.Edit{{In: "(*Request).payload", Old: "return append([]byte{}, arg...)", New: "return arg"}},
			Catchers: []mutation.Catcher{{Test: "TestPayloadsStay", Runs: 1}}},
		{Name: "part-of-deletion-counted", About: "a DEL of many keys of which some could not be deleted succeeds",
			Edits:    []mutation.Edit{{In: "del", Old: "if failed != nil {", New: "if failed != nil && removed == 0 {"}},
			Catchers: []mutation.Catcher{{Test: "TestDeletionInSteps", Runs: 1}}},
		{Name: "steps-unnoted", About: "WAIT does not wait for a DEL of many keys",
			Edits:    []mutation.Edit{{In: "del", Old: "req.Client.NoteWrite(r.Index)", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestDeletionInSteps", Runs: 1}}},
		{Name: "unknown-step-forgotten", About: "a DEL in steps with one unknown outcome says that nothing was done",
			Edits: []mutation.Edit{{In: "del", Old: "(failed == nil || turn.KindOf(err) == turn.Unknown)",
				New: "failed == nil"}},
			Catchers: []mutation.Catcher{{Test: "TestDeletionInSteps", Runs: 1}}},
		{Name: "watches-leak", About: "lists are watched for clients that wait no longer",
			Edits:    []mutation.Edit{{In: "(*Backend).watchAll", Old: "stops = append(stops, stop)", New: "_ = stop"}},
			Catchers: []mutation.Catcher{{Test: "TestWatchesEnd", Runs: 1}}},
		{Name: "long-wait-is-none", About: "a client that wants to wait for centuries does not wait",
			Edits:    []mutation.Edit{{In: "parseTimeout", Old: "min(seconds, longest.Seconds())", New: "seconds"}},
			Catchers: []mutation.Catcher{{Test: "TestTimes", Runs: 1}}},
		{Name: "time-left-stands", About: "the time that is left of a key passes with log entries only",
			Edits:    []mutation.Edit{{In: "(*Backend).clusterTime", Old: "b.now().UnixMilli()", New: "0"}},
			Catchers: []mutation.Catcher{{Test: "TestTimeLeft", Runs: 1}}},
		{Name: "xx-ignored-with-lt", About: "EXPIRE with XX and LT gives a key its first deadline",
			Edits:    []mutation.Edit{{In: "parseExpireIf", Old: "case lt && xx:", New: "case lt && xx && gt:"}},
			Catchers: []mutation.Catcher{{Test: "TestWritesMeanWhatTheySay", Runs: 1}}},
		{Name: "set-past-time", About: "SET takes a time of zero",
			Edits:    []mutation.Edit{{In: "(*Request).deadline", Old: "n <= 0", New: "n < 0"}},
			Catchers: []mutation.Catcher{{Test: "TestWordsAreRefused", Runs: 1}}},
	}
}
