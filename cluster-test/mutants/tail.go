package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// tailMutants break tails.
func tailMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "last-watch-unheard", About: "the watch of a key hears nothing once that of another one has ended",
			Edits: []mutation.Edit{{In: "(*watches).Watch", Old: "w.some.Store(len(w.byKey) > 0)",
				New: "w.some.Store(len(w.byKey) > 1)"}},
			Catchers: []mutation.Catcher{{Test: "TestWatch", Runs: 1}}},
		{Name: "stream-skips", About: "a stream of events leaves out each message after the last one of a page",
			Edits: []mutation.Edit{{Old: "st.after = m.Seq", New: "st.after = m.Seq + 1"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "tail",
				Shows: []string{"gap"}, Runs: 3},
				{Test: "TestStreamOfManyMessages", Runs: 1}}},
		{Name: "stream-skips-behind-a-trim",
			About: "a stream of events leaves out the first message behind removed ones",
			Edits: []mutation.Edit{{Old: "\tfor i := range res.Messages {\n\t\tm := &res.Messages[i]\n" +
				"\t\tst.out.text(\"id: \")",
				New: "\tif len(res.Messages) > 1 && res.Messages[0].Seq > st.after+1 {\n" +
					"\t\tres.Messages = res.Messages[1:]\n\t}\n\tfor i := range res.Messages {\n" +
					"\t\tm := &res.Messages[i]\n\t\tst.out.text(\"id: \")"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 8 * time.Second, Workloads: "tail-trim",
				Shows: []string{"tail skips"}, Runs: 3}}},
		{Name: "new-session-not-from-its-start",
			About: "a stream of events goes on at its seq if the session was deleted and has reached that again",
			Edits: []mutation.Edit{{Old: "other := st.known && st.incarnation != incarnation || st.after > last",
				New: "other := st.after > last"}},
			Catchers: []mutation.Catcher{{Test: "TestStreamWithoutAnIncarnationTellsOfTheNextSession", Runs: 1}}},
		{Name: "tail-repeats", About: "the Go client's tail goes on with the last message that it has shown",
			Edits: []mutation.Edit{{Old: "\t\tt.after = m.Seq\n\t\tif !t.yield",
				New: "\t\tt.after = m.Seq - 1\n\t\tif !t.yield"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "tail",
				Shows: []string{"gap"}, Runs: 3},
				{Test: "TestTailResumes", Runs: 1}}},
		{Name: "tail-begins-again", About: "a tail from behind the last message begins with the first one",
			Edits: []mutation.Edit{{In: "(*pushTail).renew", Old: "|| s.Last < t.q.Seq\n",
				New: "|| s.Last <= t.q.Seq\n"}},
			Catchers: []mutation.Catcher{{Test: "TestTailPushFromTheEnd", Runs: 1}}},
	}
}
