package mutants

import (
	"maps"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

func TestTargets(t *testing.T) {
	all, err := mutation.Choose(All(), mutation.All, 1)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, group := range []string{mutation.Tests, mutation.Scenarios} {
		some, err := mutation.Choose(All(), group, 1)
		if err != nil || len(some) == 0 {
			t.Fatalf("%s: %d, %v", group, len(some), err)
		}
		n += len(some)
	}
	if n != len(all) {
		t.Errorf("tests and scenarios have to catch %d, all are %d", n, len(all))
	}
	for words, want := range map[string]int{"wall-clock,map-order": 4, "wall-clock": 2, "wall-clock,tests": 1,
		"scenarios,wall-clock": 1, "tests,scenarios": len(all)} {
		if some, err := mutation.Choose(All(), words, 1); err != nil || len(some) != want {
			t.Errorf("%s: %d, want %d; %v", words, len(some), want, err)
		}
	}
	for _, bad := range []string{"", "nonsense", "wall-clock,nonsense", "wall-clock,ci"} {
		if some, err := mutation.Choose(All(), bad, 1); err == nil {
			t.Errorf("%q is %d mutants", bad, len(some))
		}
	}
}

// The control is every catcher once, and nothing to be caught.
func TestControl(t *testing.T) {
	all, err := mutation.Choose(All(), mutation.Control, 1)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d, %v", len(all), err)
	}
	catchers := map[string]bool{}
	for _, p := range all {
		if len(p.Edits) > 0 || p.By.Runs != 1 {
			t.Errorf("%s with %d edits, %d runs of %s", p.Name, len(p.Edits), p.By.Runs, p.By)
		}
		catchers[p.By.String()] = true
	}
	mutated, err := mutation.Choose(All(), mutation.All, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range mutated {
		if len(p.Edits) == 0 || !catchers[p.By.String()] {
			t.Errorf("%s: has %d edits, and %s is a catcher without a control", p.Name, len(p.Edits), p.By)
		}
	}
}

// What is hunted for every change differs from seed to seed, and leaves nothing
// out for ever.
func TestTargetsOfEveryChange(t *testing.T) {
	all, err := mutation.Choose(All(), mutation.All, 1)
	if err != nil {
		t.Fatal(err)
	}
	type pair struct{ mutant, catcher string }
	left := map[pair]bool{}
	for _, p := range all {
		left[pair{p.Name, p.By.String()}] = true
	}
	changes := 3 * len(all) // each draws at random
	for seed := range uint64(changes) {
		few, err := mutation.Choose(All(), mutation.CI, seed)
		if err != nil || len(few) != 5 {
			t.Fatalf("seed %d: %d, %v", seed, len(few), err)
		}
		var names []string
		for _, p := range few {
			names = append(names, p.Name)
			delete(left, pair{p.Name, p.By.String()})
		}
		slices.Sort(names)
		if len(slices.Compact(names)) != len(few) {
			t.Errorf("seed %d: the same mutant twice: %v", seed, names)
		}
	}
	if len(left) > 0 {
		t.Errorf("%d changes, and never hunted: %v", changes, slices.Collect(maps.Keys(left)))
	}
}
