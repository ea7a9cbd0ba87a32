package main

// strangerMutants break floods of strangers.
func strangerMutants() []mutant {
	return []mutant{
		{Name: "http-strangers-stay", About: "HTTP connections without a user do not give way to new ones",
			Edits:    []edit{{Package: "server/httpapi", Old: "func (s *strangers) giveWay() bool { return s != nil && s.close(1) }", New: "func (s *strangers) giveWay() bool { return false }"}, {Package: "server/httpapi", Old: "\tif s.list.Len() < atLeast {", New: "\tif true {"}},
			Catchers: []catcher{{Package: "./server/httpapi", Test: "TestStrangersGiveWay", Runs: 1}}},
		{Name: "http-users-give-way", About: "an HTTP connection of a user gives way to strangers",
			Edits:    []edit{{Package: "server/httpapi", Old: "\tc.known()\n", New: ""}},
			Catchers: []catcher{{Package: "./server/httpapi", Test: "TestUsersDoNotGiveWay", Runs: 1}}},
		{Name: "head-lines-unbounded", About: "the head of an HTTP request may have as many lines as fit it",
			Edits:    []edit{{Package: "server/httpapi", Old: "return h.lines > maxHeadLines &&", New: "return h.lines > maxHead &&"}},
			Catchers: []catcher{{Package: "./server/httpapi", Test: "TestLinesOfHeads", Runs: 1}}},
		{Name: "subscriptions-charged-on", About: "a subscription's memory is not given back while the connection has another",
			Edits:    []edit{{Package: "server/redis", Old: "fewer > 0 {", New: "fewer > 0 && c.subs.count() == 0 {"}},
			Catchers: []catcher{{Package: "./server/redis", Test: "TestSubscriptionsAreChargedOnce", Runs: 1}}},
	}
}
