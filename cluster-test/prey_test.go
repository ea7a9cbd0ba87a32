package main

import (
	"maps"
	"slices"
	"testing"
)

func TestPrey(t *testing.T) {
	all, err := choosePrey(preyAll, 1)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, group := range []string{preyTests, preyScenarios} {
		some, err := choosePrey(group, 1)
		if err != nil || len(some) == 0 {
			t.Fatalf("%s: %d, %v", group, len(some), err)
		}
		n += len(some)
	}
	if n != len(all) {
		t.Errorf("tests and scenarios have to catch %d, all are %d", n, len(all))
	}
	for words, want := range map[string]int{"wall-clock,map-order": 4, "wall-clock": 2, "wall-clock,tests": 1, "scenarios,wall-clock": 1, "tests,scenarios": len(all)} {
		if some, err := choosePrey(words, 1); err != nil || len(some) != want {
			t.Errorf("%s: %d, want %d; %v", words, len(some), want, err)
		}
	}
	for _, bad := range []string{"", "nonsense", "wall-clock,nonsense", "wall-clock,ci"} {
		if some, err := choosePrey(bad, 1); err == nil {
			t.Errorf("%q is %d mutants", bad, len(some))
		}
	}
}

// What is hunted for every change differs from seed to seed, and leaves nothing
// out for ever.
func TestPreyOfEveryChange(t *testing.T) {
	all, err := choosePrey(preyAll, 1)
	if err != nil {
		t.Fatal(err)
	}
	type pair struct{ mutant, catcher string }
	left := map[pair]bool{}
	for _, p := range all {
		left[pair{p.Name, p.by.String()}] = true
	}
	for seed := range uint64(400) {
		few, err := choosePrey(preyCI, seed)
		if err != nil || len(few) != ciTestPrey+ciScenarioPrey {
			t.Fatalf("seed %d: %d, %v", seed, len(few), err)
		}
		var names []string
		for _, p := range few {
			names = append(names, p.Name)
			delete(left, pair{p.Name, p.by.String()})
		}
		slices.Sort(names)
		if len(slices.Compact(names)) != len(few) {
			t.Errorf("seed %d: the same mutant twice: %v", seed, names)
		}
	}
	if len(left) > 0 {
		t.Errorf("400 changes, and never hunted: %v", slices.Collect(maps.Keys(left)))
	}
}
