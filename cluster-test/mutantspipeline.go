package main

import "time"

// pipelineMutants break pipelines of Redis.
func pipelineMutants() []mutant {
	return []mutant{
		{Name: "reads-do-not-wait", About: "a read is answered without the writes before it in its pipeline",
			Edits: []edit{{Old: "\tfor _, w := range r.writes {\n\t\ts.await(w.Done())\n\t\td.note(w)\n\t}\n",
				New: ""}},
			Catchers: []catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "pipeline",
				Shows: []string{"pipelined calls changed order"}, Runs: 2}}},
		{Name: "reads-wait-for-the-last",
			About: "a read waits for the last write before it in its pipeline only, which may be refused before others end",
			Edits: []edit{{Old: "r.writes = append(r.writes, e.writes...)",
				New: "r.writes = append(r.writes, e.writes[max(0, len(e.writes)-1):]...)"}},
			Catchers: []catcher{{Test: "TestReadsWaitForAllWrites", Runs: 1}}},
		{Name: "reads-overtaken", About: "a write does not wait for the reads of its key before it in its pipeline",
			Edits: []edit{{Old: "\t\tc.await(c.order.beforeWrite(k))\n", New: "\t\t_ = c.order.beforeWrite(k)\n"}},
			Catchers: []catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "pipeline",
				Shows: []string{"pipelined calls changed order"}, Runs: 2}}},
		{Name: "answers-of-no-state",
			About:    "a read behind one that does not tell what state answered may show an older state",
			Edits:    []edit{{In: "unseen", Old: "err == nil {", New: "err != nil {"}},
			Catchers: []catcher{{Test: "TestReadsOfAKeyGoForward", Runs: 1}}},
		{Name: "replies-without-number", About: "a client may be owed replies without number, if they have few bytes",
			Edits:    []edit{{Old: "len(q.queue) >= q.maxCount || ", New: ""}},
			Catchers: []catcher{{Test: "TestRepliesOwedAreBounded", Runs: 1}}},
	}
}
