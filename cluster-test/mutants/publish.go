package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// numbersIgnored has a node take published messages in whatever order, and as often, as they come.
var numbersIgnored = mutation.Edit{Old: "if last.origin != this.origin || last.number < this.number {",
	New: "if last != this || last == this {"}

// publishMutants break what is published.
func publishMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "casts-overtake",
			About: "what one connection publishes in a row may overtake one another on the way to another node",
			Edits: []mutation.Edit{numbersIgnored,
				{Old: "\t\tb.send(id, payload, func(", New: "\t\tgo b.send(id, payload, func("}},
			Catchers: []mutation.Catcher{{Scenario: "publish-calm", Time: 4 * time.Second, Workloads: "publish",
				Shows: []string{"changed order"}, Runs: 3}}},
		{Name: "casts-sent-again", About: "a published message that a node did not answer is sent to it again",
			Edits: []mutation.Edit{numbersIgnored, {Old: "\t\t\tb.leaveNode(id, len(payload))\n",
				New: "\t\t\tb.leaveNode(id, len(payload))\n\t\t\tif err != nil {\n" +
					"\t\t\t\ttime.AfterFunc(time.Second, func() { b.send(id, payload, func([]byte, error) {}) })\n" +
					"\t\t\t}\n"}},
			Catchers: []mutation.Catcher{{Scenario: "publish", Time: 20 * time.Second, Workloads: "publish",
				Nemesis: "partition-leader,flapping", Shows: []string{"received twice"}, Runs: 5}}},
		{Name: "receivers-of-one-node", About: "PUBLISH tells of the receivers at its own node only",
			Edits: []mutation.Edit{{Old: "\t\t\tr.Count += int64(in.number())\n", New: "\t\t\t_ = in.number()\n"}},
			Catchers: []mutation.Catcher{{Scenario: "publish-calm", Time: 3 * time.Second, Workloads: "publish",
				Shows: []string{"receivers"}, Runs: 1}}},
		{Name: "switch-untold", About: "subscribers are not told of a leader that announces its address later",
			Edits: []mutation.Edit{{In: "(*Hub).announceSwitch", Old: "case host:\n\t\treturn false",
				New: "case host:\n\t\treturn true"}},
			Catchers: []mutation.Catcher{{Test: "TestSwitchIsToldWhenTheAddressIsKnown", Runs: 1}}},
	}
}
