package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// stateMutants break what an operation does.
func stateMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "edits-of-one-length", About: "an edit is taken for none if the payload has as many bytes as before",
			Edits: []mutation.Edit{{In: "(*sessions).editMessage", Old: "!bytes.Equal(rec.Data, o.Data)",
				New: "(len(rec.Data) != len(o.Data) || bytes.Compare(rec.Data, nil) == 9)"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 4 * time.Second, Workloads: "edits",
				Shows: []string{"not linearizable"}, Runs: 1}, {Test: "TestAgainstModel", Runs: 1}}},
		{Name: "large-cut", About: "what a message has beyond 4 MiB is not kept",
			Edits: []mutation.Edit{{Old: "ID: ms[i].ID, Data: ms[i].Data, Side: side}",
				New: "ID: ms[i].ID, Data: ms[i].Data[:min(len(ms[i].Data), 4<<20)], Side: side}"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 8 * time.Second, Workloads: "large", Rate: 400,
				Shows: []string{"foreign"}, Runs: 3}}},
		{Name: "refuses-a-third", About: "a third of the operations fails for no reason",
			Edits: []mutation.Edit{{Old: "\tif err := ctx.Err(); err != nil {\n\t\treturn n.writes.calls.Failed(",
				New: "\tif len(b)%3 == 0 {\n\t\treturn n.writes.calls.Failed(turn.Errorf(turn.Internal, \"no " +
					"reason\"))\n\t}\n\tif err := ctx.Err(); err != nil {\n\t\treturn n.writes.calls.Failed("}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 3 * time.Second, Workloads: "append",
				Shows: []string{"refusal"}, Runs: 1}}},
		{Name: "conditions-ignored", About: "an append is carried out whatever its condition",
			Edits: []mutation.Edit{{Old: "if *expect == current {", New: "if *expect == current || true {"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 3 * time.Second, Workloads: "cas",
				Shows: []string{"condition"}, Runs: 3}, simulation(2)}},
		{Name: "revisions-shared", About: "all namespaces share one counter of revisions",
			Edits: []mutation.Edit{{Old: "\tnext, name := ns.revision(key)+1, layout.NamespaceOf(key)\n",
				New: "\tnext, name := ns.revision(key)+1, layout.NamespaceOf(key)\n\tfor _, n := range ns.byName {\n" +
					"\t\tnext = max(next, n.Revision+1)\n\t}\n"}},
			Catchers: []mutation.Catcher{{Test: "TestRevisionsOfANamespace", Runs: 1}}},
		{Name: "ungated",
			About: "an entry does something else than in the version before, whatever the cluster's level",
			Edits: []mutation.Edit{{Old: "h.Revision, h.Updated = ks.namespaces.advance(key), ks.meta.Clock",
				New: "h.Revision, h.Updated = ks.namespaces.advance(key), ks.meta.Clock+1"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 3 * time.Second, Workloads: "append", Mix: true,
				Shows: []string{"states differ", "nodes differ"}, Runs: 1}}},
		{Name: "wall-clock", About: "the state machine asks the computer for the time",
			Edits: []mutation.Edit{
				{Old: "func (m *Machine) Close() error {",
					New: "func wallClock() int64 { return time.Now().UnixMilli() }\n\n" +
						"func (m *Machine) Close() error {"},
				{Old: "max(m.keys.meta.Clock, e.Stamp)", New: "max(m.keys.meta.Clock, e.Stamp, wallClock())"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 3 * time.Second, Workloads: "append,ttl",
				Shows: []string{"states differ"}, Runs: 3}, simulation(6)}},
		{Name: "clear-of-nothing", About: "to clear a session that does not exist is an error",
			Edits: []mutation.Edit{{In: "(*sessions).clear", Old: "if h == nil {\n\t\treturn nil",
				New: "if h == nil {\n\t\treturn turn.Errorf(turn.NotFound, \"the session does not exist\")"}},
			Catchers: []mutation.Catcher{{Test: "TestRemovingFromNoSession", Runs: 1},
				{Test: "TestAgainstModel", Runs: 1}}},
		{Name: "map-order", About: "the commands of an entry are carried out in the order of a map",
			Edits: []mutation.Edit{{Old: "\tfor i, c := range e.Commands {\n",
				New: "\tshuffled := make(map[int]codec.Command)\n\tfor i, c := range e.Commands {\n" +
					"\t\tshuffled[i] = c\n\t}\n\tfor i, c := range shuffled {\n"}},
			Catchers: []mutation.Catcher{{Scenario: "calm", Time: 3 * time.Second, Workloads: "append,cas",
				Shows: []string{"states differ", "nodes differ", "two values"}, Runs: 3}, simulation(3)}},
		{Name: "cache-overwritten", About: "memory of a block in the cache is written to",
			Edits: []mutation.Edit{{Old: "\t\t\tr.cache.Add(ref, block)\n",
				New: "\t\t\tr.cache.Add(ref, block)\n\t\t\tblock[len(block)-1] ^= 1\n"}},
			Catchers: []mutation.Catcher{{Test: "TestReadsSameWithAndWithoutCache", Shows: []string{"without"},
				Runs: 1}}},
		{Name: "memory-borrowed-on", About: "a read's answer stays in memory that the next one takes over",
			Edits: []mutation.Edit{{Old: "layout.DecodeBlock(dst, first, block, buf != nil)",
				New: "layout.DecodeBlock(dst, first, block, false)"}},
			Catchers: []mutation.Catcher{{Test: "TestReadsSameWithAndWithoutCache", Shows: []string{"became"},
				Runs: 1}}},
		{Name: "shared-tags-changed", About: "the numbers of commands that a flush writes change while it does",
			Edits:    []mutation.Edit{{Old: "\tif n.shared {\n", New: "\tif n.shared && false {\n"}},
			Catchers: []mutation.Catcher{{Test: "TestSharedTagsStayAsTheyWere", Runs: 1}}},
		{Name: "one-floor-for-all", About: "namespaces without keys hear how often others were changed",
			Edits:    []mutation.Edit{{Old: "int(h.Sum32() % revisionFloors)", New: "int(h.Sum32() % 1)"}},
			Catchers: []mutation.Catcher{{Test: "TestEmptyNamespacesHearNothingOfOthers", Runs: 1}}},
		{Name: "long-message-unread", About: "a message that is longer than an answer is never read",
			Edits: []mutation.Edit{{In: "(*gather).take", Old: "len(g.records) > 0 && g.bytes < 0",
				New: "g.bytes < 0"}},
			Catchers: []mutation.Catcher{{Test: "TestMessageLongerThanAnAnswerIsRead", Runs: 1}}},
	}
}
