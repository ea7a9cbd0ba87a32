package mutation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Target is a mutant, to be caught by one of its catchers.
type Target struct {
	*Mutant
	By *Catcher
}

// All to Control are what --mutants takes, beside names of mutants: all, a few for every change (by
// the seed), what one kind of catcher has to catch, and what none may catch.
const (
	All       = "all"
	CI        = "ci"
	Tests     = "tests"
	Scenarios = "scenarios"
	Control   = "control"
)

// What is hunted for every change takes about a minute.
const ciTests, ciScenarios = 4, 1

// kind is the kind of catcher that the target is for.
func (p Target) kind() string {
	if p.By.Test != "" {
		return Tests
	}
	return Scenarios
}

// Choose returns the targets among the mutants, or the kind of catcher, or both, that
// are named, separated by commas.
func Choose(list []Mutant, words string, seed uint64) ([]Target, error) {
	var all []Target
	known := []string{All, Tests, Scenarios, Control}
	if slices.Contains(strings.Split(words, ","), Control) {
		list = []Mutant{control(list)}
	}
	for _, m := range list {
		known = append(known, m.Name)
		for i := range m.Catchers {
			all = append(all, Target{&m, &m.Catchers[i]})
		}
	}
	if words == CI {
		return aFew(all, rand.New(rand.NewPCG(seed, 5))), nil
	}
	wanted := strings.Split(words, ",")
	for _, word := range wanted {
		if !slices.Contains(known, word) {
			return nil, fmt.Errorf("there is no mutant %q; --list shows them", word)
		}
	}
	named := func(word string) bool { return slices.Contains(wanted, word) }
	anyKind := named(Tests) == named(Scenarios)
	anyName := !slices.ContainsFunc(wanted,
		func(word string) bool { return word != Tests && word != Scenarios })
	return slices.DeleteFunc(all, func(p Target) bool {
		return !anyKind && !named(p.kind()) || !anyName && !named(All) && !named(p.Name)
	}), nil
}

// control is no mutant: nothing is broken, and every catcher has one run to find
// nothing of what it looks for. Catchers that accuse everybody prove nothing either.
func control(list []Mutant) Mutant {
	c := Mutant{Name: Control, About: "nothing is broken"}
	seen := map[string]bool{}
	for _, m := range list {
		for _, by := range m.Catchers {
			by.Runs = 1
			if key := fmt.Sprint(by); !seen[key] {
				seen[key] = true
				c.Catchers = append(c.Catchers, by)
			}
		}
	}
	return c
}

// control reports whether this is no mutant at all.
func (p Target) control() bool { return len(p.Edits) == 0 }

// aFew draws targets for every change, no mutant twice.
func aFew(all []Target, random *rand.Rand) []Target {
	var chosen []Target
	left := map[string]int{Tests: ciTests, Scenarios: ciScenarios}
	for _, i := range random.Perm(len(all)) {
		p := all[i]
		taken := slices.ContainsFunc(chosen, func(c Target) bool { return c.Name == p.Name })
		if !taken && left[p.kind()] > 0 {
			left[p.kind()]--
			chosen = append(chosen, p)
		}
	}
	return chosen
}
