package mutants

import "github.com/turnlog/turnlog/cluster-test/mutation"

// transactionMutants break what a transaction that takes place as a whole promises.
func transactionMutants() []mutation.Mutant {
	return []mutation.Mutant{
		{Name: "transaction-half-applied",
			About: "the steps before one that is refused take place",
			Edits: []mutation.Edit{{Old: "if err := p.step(o.Steps[i].Op); err != nil {",
				New: "if err := p.step(o.Steps[i].Op); err != nil && i == 0 {"}},
			Catchers: []mutation.Catcher{{Test: "TestRefusedStepKeepsTheOthersFromTakingPlace", Runs: 1},
				{Test: "TestAgainstModel", Runs: 1}}},
		{Name: "transaction-expires-a-list",
			About:    "a step that deletes a key, or does not, is taken to delete it",
			Edits:    []mutation.Edit{{In: "(*plan).expire", Old: "if o.List {", New: "if o.List && false {"}},
			Catchers: []mutation.Catcher{{Test: "TestExpiryThatLeavesASessionIsNoStep", Runs: 1}}},
		{Name: "transaction-retry-doubles",
			About: "a transaction that is sent again takes place again",
			Edits: []mutation.Edit{{In: "(*sessions).transactAll", Old: "known, err := s.answered(record, o, r); known || err != nil",
				New: "_, err := s.answered(record, o, new(turn.Result)); err != nil"}},
			Catchers: []mutation.Catcher{{Test: "TestTransactionSentAgain", Runs: 1}, {Test: "TestAgainstModel", Runs: 1}}},
		{Name: "failed-condition-applies",
			About: "a transaction takes place although a condition, not the first, does not hold",
			Edits: []mutation.Edit{{Old: "for i := range o.Conditions {\n\t\tif err := s.holds(",
				New: "for i := range min(1, len(o.Conditions)) {\n\t\tif err := s.holds("}},
			Catchers: []mutation.Catcher{{Test: "TestConditionThatDoesNotHold", Runs: 1}, {Test: "TestAgainstModel", Runs: 1}}},
		{Name: "transaction-ids-of-all-namespaces",
			About:    "a transaction is known by the id of one of another namespace",
			Edits:    []mutation.Edit{{In: "recordOf", Old: "Namespace: o.Namespace()", New: "Namespace: recordsNamespace"}},
			Catchers: []mutation.Catcher{{Test: "TestTransactionSentAgain", Runs: 1}}},
		{Name: "append-without-its-metadata",
			About:    "an append with metadata leaves the metadata as it was",
			Edits:    []mutation.Edit{{Old: "\tif changesMeta {\n\t\th.Meta = meta\n", New: "\tif changesMeta {\n\t\t_ = meta\n"}},
			Catchers: []mutation.Catcher{{Test: "TestAppendWithMetadata", Runs: 1}, {Test: "TestAgainstModel", Runs: 1}}},
		{Name: "append-makes-a-session",
			About:    "an append that demands an existing session makes one",
			Edits:    []mutation.Edit{{Old: "if o.MustExist && h == nil {", New: "if o.MustExist && false {"}},
			Catchers: []mutation.Catcher{{Test: "TestAppendWithMetadata", Runs: 1}, {Test: "TestAgainstModel", Runs: 1}}},
		{Name: "transaction-without-keys",
			About:    "the keys of a transaction's steps are not those that a user's rights are checked for",
			Edits:    []mutation.Edit{{In: "txKeys", Old: "keys = append(keys, words[1])", New: "continue"}},
			Catchers: []mutation.Catcher{{Test: "TestEveryCommandIsAuthorised", Runs: 1}}},
	}
}
