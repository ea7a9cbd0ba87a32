package main

import "time"

// pipelineMutants break pipelines of Redis.
func pipelineMutants() []mutant {
	return []mutant{
		{Name: "reads-do-not-wait", About: "a read is answered without the writes before it in its pipeline",
			Edits:    []edit{{Package: "server/redis", Old: "\tfor _, w := range r.writes {\n\t\ts.await(w)\n\t}\n", New: ""}},
			Catchers: []catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "pipeline", Shows: []string{"pipelined calls changed order"}, Runs: 2}}},
		{Name: "reads-overtaken", About: "a write does not wait for the reads of its key before it in its pipeline",
			Edits:    []edit{{Package: "server/redis", Old: "\t\tc.await(c.order.beforeWrite(k))\n", New: "\t\t_ = c.order.beforeWrite(k)\n"}},
			Catchers: []catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "pipeline", Shows: []string{"pipelined calls changed order"}, Runs: 2}}},
	}
}
