package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// target is a mutant, to be caught by one of its catchers.
type target struct {
	*mutant
	by *catcher
}

// What --mutants takes, beside names of mutants: all, a few for every change (by
// the seed), what one kind of catcher has to catch, and what none may catch.
const (
	targetsAll       = "all"
	targetsCI        = "ci"
	targetsTests     = "tests"
	targetsScenarios = "scenarios"
	targetsControl   = "control"
)

// What is hunted for every change takes about a minute.
const ciTestTargets, ciScenarioTargets = 4, 1

// kind is the kind of catcher that the target is for.
func (p target) kind() string {
	if p.by.Test != "" {
		return targetsTests
	}
	return targetsScenarios
}

// chooseTargets returns the targets among the mutants, or the kind of catcher, or both, that
// are named, separated by commas.
func chooseTargets(words string, seed uint64) ([]target, error) {
	var all []target
	known := []string{targetsAll, targetsTests, targetsScenarios, targetsControl}
	list := mutants()
	if slices.Contains(strings.Split(words, ","), targetsControl) {
		list = []mutant{control(list)}
	}
	for _, m := range list {
		known = append(known, m.Name)
		for i := range m.Catchers {
			all = append(all, target{&m, &m.Catchers[i]})
		}
	}
	if words == targetsCI {
		return aFew(all, rand.New(rand.NewPCG(seed, 5))), nil
	}
	wanted := strings.Split(words, ",")
	for _, word := range wanted {
		if !slices.Contains(known, word) {
			return nil, fmt.Errorf("there is no mutant %q; --list shows them", word)
		}
	}
	named := func(word string) bool { return slices.Contains(wanted, word) }
	anyKind := named(targetsTests) == named(targetsScenarios)
	anyName := !slices.ContainsFunc(wanted,
		func(word string) bool { return word != targetsTests && word != targetsScenarios })
	return slices.DeleteFunc(all, func(p target) bool {
		return !anyKind && !named(p.kind()) || !anyName && !named(targetsAll) && !named(p.Name)
	}), nil
}

// control is no mutant: nothing is broken, and every catcher has one run to find
// nothing of what it looks for. Catchers that accuse everybody prove nothing either.
func control(list []mutant) mutant {
	c := mutant{Name: targetsControl, About: "nothing is broken"}
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
func (p target) control() bool { return len(p.Edits) == 0 }

// aFew draws targets for every change, no mutant twice.
func aFew(all []target, random *rand.Rand) []target {
	var chosen []target
	left := map[string]int{targetsTests: ciTestTargets, targetsScenarios: ciScenarioTargets}
	for _, i := range random.Perm(len(all)) {
		p := all[i]
		taken := slices.ContainsFunc(chosen, func(c target) bool { return c.Name == p.Name })
		if !taken && left[p.kind()] > 0 {
			left[p.kind()]--
			chosen = append(chosen, p)
		}
	}
	return chosen
}
