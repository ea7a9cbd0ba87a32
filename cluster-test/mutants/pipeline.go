package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// pipelineMutants break pipelines of Redis.
func pipelineMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "reads-do-not-wait", About: "a read is answered without the writes before it in its pipeline",
			Edits: []mutation.Edit{{
				Old: "\tfor _, w := range r.writes {\n\t\tAwait(ctx, w.Done())\n\t\td.Note(w)\n\t}\n", New: ""}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "pipeline",
				Shows: []string{"pipelined calls changed order"}, Runs: 2}}},
		{Name: "reads-wait-for-the-last",
			About: "a read waits for the last write before it in its pipeline only, which may be refused before " +
				"others end",
			Edits: []mutation.Edit{{Old: "r.writes = append(r.writes, e.writes...)",
				New: "r.writes = append(r.writes, e.writes[max(0, len(e.writes)-1):]...)"}},
			Catchers: []mutation.Catcher{{Test: "TestReadsWaitForAllWrites", Runs: 1}}},
		{Name: "reads-overtaken", About: "a write does not wait for the reads of its key before it in its pipeline",
			Edits: []mutation.Edit{{Old: "\t\tc.await(c.order.BeforeWrite(k))\n",
				New: "\t\t_ = c.order.BeforeWrite(k)\n"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "pipeline",
				Shows: []string{"pipelined calls changed order"}, Runs: 2}}},
		{Name: "answers-of-no-state",
			About:    "a read behind one that does not tell what state answered may show an older state",
			Edits:    []mutation.Edit{{In: "unseen", Old: "err == nil {", New: "err != nil {"}},
			Catchers: []mutation.Catcher{{Test: "TestReadsOfAKeyGoForward", Runs: 1}}},
		{Name: "unread-at-stop",
			About: "a server that stops leaves requests unread that have arrived, and the client's socket takes back " +
				"replies",
			Edits:    []mutation.Edit{{Old: " || !s.w.Stopping() || !hangup.Unread(s.w.raw) {", New: " || true {"}},
			Catchers: []mutation.Catcher{{Test: "TestStopAmidARead", Runs: 1}}},
		{Name: "replies-taken-back",
			About:    "a server that stops closes sockets at once, and what clients still send takes back their replies",
			Edits:    []mutation.Edit{{Old: "case w.Stopping() && !w.wasCut.Load():", New: "case false:"}},
			Catchers: []mutation.Catcher{{Test: "TestRepliesAreReadThoughMoreComesAfterStop", Runs: 1}}},
		{Name: "replies-without-number", About: "a client may be owed replies without number, if they have few bytes",
			Edits:    []mutation.Edit{{Old: "len(q.queue) >= q.maxCount || ", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestRepliesOwedAreBounded", Runs: 1}}},
	}
}
