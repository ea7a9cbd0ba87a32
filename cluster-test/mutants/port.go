package mutants

import "github.com/turnlog/turnlog/cluster-test/mutation"

// portMutants break the nodes' port.
func portMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "secret-unproved", About: "a node is let in whatever it proves of the cluster secret",
			Edits: []mutation.Edit{{Old: "!s.proves(m.body, roleDialer, dialer, acceptor) {",
				New: "!s.proves(m.body, roleDialer, dialer, acceptor) && m.body == nil {"}},
			Catchers: []mutation.Catcher{{Test: "TestProofsAreNotReplayed", Runs: 1}}},
		{Name: "any-certificate", About: "a certificate of the authority is good for any node",
			Edits: []mutation.Edit{{Old: "if name != \"\" && (name == nodeID ||",
				New: "if name != \"\" && (name != nodeID ||"}},
			Catchers: []mutation.Catcher{{Test: "TestNodeNames", Runs: 1}}},
		{Name: "removed-and-connected", About: "the connections of a member that was removed go on",
			Edits:    []mutation.Edit{{Old: "\tn.net.Cut(n.policy.Outsider)\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestRemovedNodeIsCutOff", Runs: 1}}},
		{Name: "no-vouchers", About: "a node that lags refuses the leader that was added meanwhile",
			Edits: []mutation.Edit{{Old: "\t\tif p.reported(m.Remote.NodeID) {\n\t\t\treturn nil\n\t\t}\n",
				New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestLeaderThatWasAddedMeanwhile", Runs: 1}}},
		{Name: "refusal-after-exposure",
			About:    "a call that an earlier leader may have logged ends as a later one refuses it",
			Edits:    []mutation.Edit{{Old: "\t\tcase !own && o.Err != nil && c.exposed:\n", New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestLaterLeaderDoesNotRefuseAnExposedCall", Runs: 1}}},
		{Name: "refusal-believed", About: "a node that another one refuses as no member stops, though that one lags",
			Edits: []mutation.Edit{{In: "(*Policy).RemovedBy", Old: " && applied > p.cfg.Cluster.Applied()",
				New: ""}},
			Catchers: []mutation.Catcher{{Test: "TestRefusalByANodeThatLags", Runs: 1}}},
	}
}
