package main

// portMutants break the nodes' port.
func portMutants() []mutant {
	return []mutant{
		{Name: "secret-unproved", About: "a node is let in whatever it proves of the cluster secret",
			Edits: []edit{{Old: "!s.proves(m.body, roleDialer, dialer, acceptor) {",
				New: "!s.proves(m.body, roleDialer, dialer, acceptor) && m.body == nil {"}},
			Catchers: []catcher{{Test: "TestProofsAreNotReplayed", Runs: 1}}},
		{Name: "any-certificate", About: "a certificate of the authority is good for any node",
			Edits: []edit{{Old: "if name != \"\" && (name == nodeID ||",
				New: "if name != \"\" && (name != nodeID ||"}},
			Catchers: []catcher{{Test: "TestNodeNames", Runs: 1}}},
		{Name: "removed-and-connected", About: "the connections of a member that was removed go on",
			Edits:    []edit{{Old: "\tn.net.Cut(n.policy.Outsider)\n", New: ""}},
			Catchers: []catcher{{Test: "TestRemovedNodeIsCutOff", Runs: 1}}},
		{Name: "no-vouchers", About: "a node that lags refuses the leader that was added meanwhile",
			Edits:    []edit{{Old: "\t\tif p.reported(m.Remote.NodeID) {\n\t\t\treturn nil\n\t\t}\n", New: ""}},
			Catchers: []catcher{{Test: "TestLeaderThatWasAddedMeanwhile", Runs: 1}}},
		{Name: "refusal-after-exposure",
			About:    "a call that an earlier leader may have logged ends as a later one refuses it",
			Edits:    []edit{{Old: "\t\tcase !own && o.Err != nil && c.exposed:\n", New: ""}},
			Catchers: []catcher{{Test: "TestLaterLeaderDoesNotRefuseAnExposedCall", Runs: 1}}},
		{Name: "refusal-believed", About: "a node that another one refuses as no member stops, though that one lags",
			Edits:    []edit{{In: "(*Policy).RemovedBy", Old: " && applied > p.cfg.Cluster.Applied()", New: ""}},
			Catchers: []catcher{{Test: "TestRefusalByANodeThatLags", Runs: 1}}},
	}
}
