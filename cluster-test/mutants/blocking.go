package mutants

import (
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// blockingMutants break Redis clients that block.
func blockingMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "guesses-tell-names", About: "guesses for names without a proven password never go first",
			Edits: []mutation.Edit{{Old: "found = found || bits == expected\n",
				New: "found = found || bits == expected && i < len(passwords)\n"}},
			Catchers: []mutation.Catcher{{Test: "TestGuessesGoFirstForAnyName", Runs: 1}}},
		{Name: "token-for-anybody", About: "the admin token of a node is sent to the server that names its file",
			Edits: []mutation.Edit{{Old: "if req.URL.Port() != strconv.Itoa(int(at.Port())) {",
				New: "if strconv.Itoa(int(at.Port())) == \"\" {"},
				{Old: "again.URL.Host = at.String()", New: "_ = at"}},
			Catchers: []mutation.Catcher{{Test: "TestImpostorGetsNoToken", Runs: 1}}},
		{Name: "rights-kept-while-waiting",
			About: "who waits for a key gets what comes, though the right has been taken away",
			Edits: []mutation.Edit{{Old: "\t\tuser := users.Current().Find(login)\n\t\tif user == nil {",
				New: "\t\treturn \"\"\n\t\tuser := users.Current().Find(login)\n\t\tif user == nil {"}},
			Catchers: []mutation.Catcher{{Test: "TestRightsLeaveThoseWhoWait", Runs: 1}}},
		{Name: "requests-behind-a-block",
			About: "requests behind one that blocks are begun, and the client is not looked for",
			Edits: []mutation.Edit{{Old: "\tif w.blocking == nil {",
				New: "\tif w.blocking = nil; w.blocking == nil {"}},
			Catchers: []mutation.Catcher{{Test: "TestManyThatBlockAndLeave", Runs: 1}}},
		{Name: "end-behind-input-unseen", About: "that a client has left is not noticed behind more input than is kept",
			Edits: []mutation.Edit{{Old: "return err == nil && n > 0\n", New: "return err == nil && n > 0 && false\n"}},
			Catchers: []mutation.Catcher{{Test: "TestClientThatLeavesWhileItBlocks", Shows: []string{"still there"},
				Runs: 1}}},
		{Name: "line-jumped", About: "a request that waits for a list takes from it though others wait for longer",
			Edits: []mutation.Edit{{Old: "len(queue) > 0 && queue[0] == w {", New: "len(queue) > 0 {"},
				{Old: "if len(queue) == 0 || queue[0] != w || w.claimed {",
					New: "if queue = []*Waiter{w}; w.claimed {"}},
			Catchers: []mutation.Catcher{{Test: "TestOrderOfWaitingSameAsRedis", Runs: 1}}},
		{Name: "waits-look-at-home",
			About: "a client that blocks is told that there is nothing by what its node knows, which may be cut off",
			Edits: []mutation.Edit{{Old: "\tindex := uint64(0)\n\tfor first := true",
				New: "\tindex := uint64(1)\n\tfor first := true"},
				{In: "(*taking).run", Old: "index = 0", New: "index = 1"}},
			Catchers: []mutation.Catcher{{Scenario: "partitions", Time: 20 * time.Second,
				Nemesis:   "partition-halves,one-way",
				Workloads: "queue", Rate: 600,
				Shows: []string{"not linearizable"}, Runs: 5}}},
		{Name: "unblocked-and-served",
			About: "something is taken for a request although CLIENT UNBLOCK has ended its wait",
			Edits: []mutation.Edit{{Old: "b.held = b.now == nil || !b.now.ended\n", New: "b.held = false\n"},
				{Old: "\treturn b.held\n", New: "\treturn true\n"}},
			Catchers: []mutation.Catcher{{Test: "TestHeldWaitIsNotEnded", Runs: 1}}},
		{Name: "shown-before-it-waits",
			About: "a command that blocks is shown before its wait has begun, and cannot be unblocked yet",
			Edits: []mutation.Edit{{Old: "if cmd != nil && !waits {",
				New: "if waits = waits && false; cmd != nil && !waits {"}},
			Catchers: []mutation.Catcher{{Test: "TestUnblockAtOnce", Runs: 2}}},
	}
}
