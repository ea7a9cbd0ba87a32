package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// prey is a mutant, to be caught by one of its catchers.
type prey struct {
	*mutant
	by *catcher
}

// What --mutants takes, beside names of mutants: all, a few for every change (by
// the seed), what one kind of catcher has to catch, and what none may catch.
const (
	preyAll       = "all"
	preyCI        = "ci"
	preyTests     = "tests"
	preyScenarios = "scenarios"
	preyControl   = "control"
)

// What is hunted for every change takes about a minute.
const ciTestPrey, ciScenarioPrey = 4, 1

// kind is the kind of catcher that the prey is for.
func (p prey) kind() string {
	if p.by.Test != "" {
		return preyTests
	}
	return preyScenarios
}

// choosePrey returns the prey of the mutants, or the kind of catcher, or both, that
// are named, separated by commas.
func choosePrey(words string, seed uint64) ([]prey, error) {
	var all []prey
	known := []string{preyAll, preyTests, preyScenarios, preyControl}
	list := mutants()
	if slices.Contains(strings.Split(words, ","), preyControl) {
		list = []mutant{control(list)}
	}
	for _, m := range list {
		known = append(known, m.Name)
		for i := range m.Catchers {
			all = append(all, prey{&m, &m.Catchers[i]})
		}
	}
	if words == preyCI {
		return aFew(all, rand.New(rand.NewPCG(seed, 5))), nil
	}
	wanted := strings.Split(words, ",")
	for _, word := range wanted {
		if !slices.Contains(known, word) {
			return nil, fmt.Errorf("there is no mutant %q; --list shows them", word)
		}
	}
	named := func(word string) bool { return slices.Contains(wanted, word) }
	anyKind := named(preyTests) == named(preyScenarios)
	anyName := !slices.ContainsFunc(wanted, func(word string) bool { return word != preyTests && word != preyScenarios })
	return slices.DeleteFunc(all, func(p prey) bool {
		return !anyKind && !named(p.kind()) || !anyName && !named(preyAll) && !named(p.Name)
	}), nil
}

// control is no mutant: nothing is broken, and every catcher has one run to find
// nothing of what it looks for. Catchers that accuse everybody prove nothing either.
func control(list []mutant) mutant {
	c := mutant{Name: preyControl, About: "nothing is broken"}
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
func (p prey) control() bool { return len(p.Edits) == 0 }

// aFew draws prey for every change, no mutant twice.
func aFew(all []prey, random *rand.Rand) []prey {
	var chosen []prey
	left := map[string]int{preyTests: ciTestPrey, preyScenarios: ciScenarioPrey}
	for _, i := range random.Perm(len(all)) {
		p := all[i]
		taken := slices.ContainsFunc(chosen, func(c prey) bool { return c.Name == p.Name })
		if !taken && left[p.kind()] > 0 {
			left[p.kind()]--
			chosen = append(chosen, p)
		}
	}
	return chosen
}
