package main

import "time"

// blockingMutants break Redis clients that block.
func blockingMutants() []mutant {
	return []mutant{
		{Name: "guesses-tell-names", About: "guesses for names without a proven secret never go first",
			Edits:    []edit{{Old: "found = found || bits == expected\n", New: "found = found || bits == expected && i < len(secrets)\n"}},
			Catchers: []catcher{{Test: "TestGuessesGoFirstForAnyName", Runs: 1}}},
		{Name: "token-for-anybody", About: "the admin token of a node is sent to the server that names its file",
			Edits: []edit{{Old: "if req.URL.Port() != strconv.Itoa(int(at.Port())) {", New: "if strconv.Itoa(int(at.Port())) == \"\" {"},
				{Old: "again.URL.Host = at.String()", New: "_ = at"}},
			Catchers: []catcher{{Test: "TestImpostorGetsNoToken", Runs: 1}}},
		{Name: "rights-kept-while-waiting", About: "who waits for a key gets what comes, though the right has been taken away",
			Edits:    []edit{{Old: "\t\tuser := c.srv.cfg.Users.Current().Find(login)\n\t\tif user == nil {", New: "\t\treturn \"\"\n\t\tuser := c.srv.cfg.Users.Current().Find(login)\n\t\tif user == nil {"}},
			Catchers: []catcher{{Test: "TestRightsLeaveThoseWhoWait", Runs: 1}}},
		{Name: "requests-behind-a-block", About: "requests behind one that blocks are begun, and the client is not looked for",
			Edits:    []edit{{Old: "\tif c.blocking == nil {", New: "\tif c.blocking = nil; c.blocking == nil {"}},
			Catchers: []catcher{{Test: "TestManyThatBlockAndLeave", Runs: 1}}},
		{Name: "end-behind-input-unseen", About: "that a client has left is not noticed behind more input than is kept",
			Edits:    []edit{{Old: "return err == nil && n > 0\n", New: "return err == nil && n > 0 && false\n"}},
			Catchers: []catcher{{Test: "TestClientThatLeavesWhileItBlocks", Shows: []string{"still there"}, Runs: 1}}},
		{Name: "line-jumped", About: "a request that waits for a list takes from it though others wait for longer",
			Edits: []edit{{Old: "len(queue) > 0 && queue[0] == w {", New: "len(queue) > 0 {"},
				{Old: "if len(queue) == 0 || queue[0] != w || w.claimed {", New: "if queue = []*waiter{w}; w.claimed {"}},
			Catchers: []catcher{{Test: "TestOrderOfWaitingSameAsRedis", Runs: 1}}},
		{Name: "waits-look-at-home", About: "a client that blocks is told that there is nothing by what its node knows, which may be cut off",
			Edits: []edit{{Old: "\tindex := uint64(0)\n\tfor first := true", New: "\tindex := uint64(1)\n\tfor first := true"},
				{In: "(*taking).run", Old: "index = 0", New: "index = 1"}},
			Catchers: []catcher{{Scenario: "partitions", Time: 20 * time.Second, Nemesis: "partition-halves,one-way", Workloads: "queue", Rate: 600,
				Shows: []string{"not linearizable"}, Runs: 5}}},
		{Name: "unblocked-and-served", About: "something is taken for a request although CLIENT UNBLOCK has ended its wait",
			Edits: []edit{{Old: "b.held = b.now == nil || !b.now.ended\n", New: "b.held = false\n"},
				{Old: "\treturn b.held\n", New: "\treturn true\n"}},
			Catchers: []catcher{{Test: "TestHeldWaitIsNotEnded", Runs: 1}}},
		{Name: "shown-before-it-waits", About: "a command that blocks is shown before its wait has begun, and cannot be unblocked yet",
			Edits:    []edit{{Old: "if cmd != nil && !waits {", New: "if waits = waits && false; cmd != nil && !waits {"}},
			Catchers: []catcher{{Test: "TestUnblockAtOnce", Runs: 2}}},
	}
}
