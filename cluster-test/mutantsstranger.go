package main

// strangerMutants break floods of strangers.
func strangerMutants() []mutant {
	return []mutant{
		{Name: "http-strangers-stay", About: "HTTP connections without a user do not give way to new ones",
			Edits:    []edit{{Package: "server/httpapi", Old: "func (s *strangers) giveWay() bool { return s != nil && s.close(1) }", New: "func (s *strangers) giveWay() bool { return false }"}, {Package: "server/httpapi", Old: "\tif s.list.Len() < atLeast {", New: "\tif true {"}},
			Catchers: []catcher{{Package: "./server/httpapi", Test: "TestStrangersGiveWay", Runs: 1}}},
		{Name: "handshakes-unbounded", About: "any number of TLS handshakes take place at a time",
			Edits:    []edit{{Package: "internal/handshakes", Old: "\t\tcase l.places <- struct{}{}:\n\t\t\treturn l.begin(conn), nil\n\t\tdefault:\n", New: "\t\tdefault:\n\t\t\treturn func() {}, nil\n"}},
			Catchers: []catcher{{Package: "./internal/handshakes", Test: "TestHandshakesWaitForEachOther", Runs: 1}}},
		{Name: "http-users-give-way", About: "an HTTP connection of a user gives way to strangers",
			Edits:    []edit{{Package: "server/httpapi", Old: "\ts.remove(c)\n\treturn true\n", New: "\treturn true\n"}},
			Catchers: []catcher{{Package: "./server/httpapi", Test: "TestUsersDoNotGiveWay", Runs: 1}}},
		{Name: "descriptors-all-users", About: "users who are no administrators may take all descriptors",
			Edits:    []edit{{Package: "internal/descriptors", Old: "if !administrator && p.budget.known >=", New: "if all < 0 && p.budget.known >="}},
			Catchers: []catcher{{Package: "./server/redis", Test: "TestDescriptorsForAdministrators", Runs: 1}, {Package: "./server/httpapi", Test: "TestConnectionsForAdministrators", Runs: 1}}},
		{Name: "strangers-keep-descriptors", About: "a stranger does not give way when it is descriptors that are used up",
			Edits:    []edit{{Package: "server/redis", Old: "\t\tif s.closeOldest(1) {\n\t\t\treturn true\n\t\t}\n\t\tif !d.MakeRoom() {", New: "\t\tif !d.MakeRoom() {"}},
			Catchers: []catcher{{Package: "./server/redis", Test: "TestStrangersGiveTheirDescriptors", Runs: 1}}},
		{Name: "http-memory-all-one", About: "one user may hold all memory for bodies and answers over HTTP",
			Edits:    []edit{{Package: "server/httpapi", Old: "(m.held[who]+n > m.each || ", New: "("}},
			Catchers: []catcher{{Package: "./server/httpapi", Test: "TestOneUserLeavesMemory", Runs: 1}}},
		{Name: "head-lines-unbounded", About: "the head of an HTTP request may have as many lines as fit it",
			Edits:    []edit{{Package: "server/httpapi", Old: "return h.lines > maxHeadLines &&", New: "return h.lines > maxHead &&"}},
			Catchers: []catcher{{Package: "./server/httpapi", Test: "TestLinesOfHeads", Runs: 1}}},
		{Name: "requests-drip-at-last", About: "a request that was fast may be slow for as long as it was ahead of the lowest rate",
			Edits:    []edit{{Package: "internal/minrate", Old: "\tif latest := now.Add(d.slack); d.by.After(latest) {\n\t\td.by = latest\n\t}\n", New: "\t_ = now\n"}},
			Catchers: []catcher{{Package: "./internal/minrate", Test: "TestDeadline", Runs: 1}, {Package: "./server/httpapi", Test: "TestSlowBodies", Runs: 1}}},
		{Name: "http-bodies-slow", About: "the body of an HTTP request has the same time whatever its size",
			Edits:    []edit{{Package: "server/httpapi", Old: "\tif err == nil { // there is more to come\n", New: "\tif n < 0 {\n"}},
			Catchers: []catcher{{Package: "./server/httpapi", Test: "TestSlowBodies", Runs: 1}}},
		{Name: "subscriptions-charged-on", About: "a subscription's memory is not given back while the connection has another",
			Edits:    []edit{{Package: "server/redis", Old: "fewer > 0 {", New: "fewer > 0 && c.subs.count() == 0 {"}},
			Catchers: []catcher{{Package: "./server/redis", Test: "TestSubscriptionsAreChargedOnce", Runs: 1}}},
	}
}
