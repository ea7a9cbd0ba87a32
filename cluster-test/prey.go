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

// Groups of prey, beside the names of mutants.
const (
	preyAll       = "all"
	preyTests     = "tests"     // what Go tests have to catch
	preyScenarios = "scenarios" // what scenarios have to catch
	preyCI        = "ci"        // a few of both, by the seed
)

// The group of every change takes about a minute.
const ciTestPrey, ciScenarioPrey = 4, 1

// choosePrey returns the prey of a group or, for names of mutants separated by
// commas, all of theirs.
func choosePrey(names string, seed uint64) ([]prey, error) {
	var tests, scenarios, chosen []prey
	wanted := strings.Split(names, ",")
	for _, m := range mutants() {
		for i := range m.Catchers {
			p := prey{&m, &m.Catchers[i]}
			if p.by.Test != "" {
				tests = append(tests, p)
			} else {
				scenarios = append(scenarios, p)
			}
			if names == preyAll || slices.Contains(wanted, m.Name) {
				chosen = append(chosen, p)
			}
		}
	}
	switch names {
	case preyAll:
	case preyTests:
		return tests, nil
	case preyScenarios:
		return scenarios, nil
	case preyCI:
		return aFew(tests, scenarios, rand.New(rand.NewPCG(seed, 5))), nil
	default:
		for _, name := range wanted {
			if !slices.ContainsFunc(chosen, func(p prey) bool { return p.Name == name }) {
				return nil, fmt.Errorf("there is no mutant %q; --list shows them", name)
			}
		}
	}
	return chosen, nil
}

// aFew draws prey for every change, no mutant twice.
func aFew(tests, scenarios []prey, random *rand.Rand) []prey {
	var chosen []prey
	draw := func(from []prey, n int) {
		for _, i := range random.Perm(len(from)) {
			if n > 0 && !slices.ContainsFunc(chosen, func(p prey) bool { return p.Name == from[i].Name }) {
				chosen = append(chosen, from[i])
				n--
			}
		}
	}
	draw(tests, ciTestPrey)
	draw(scenarios, ciScenarioPrey)
	return chosen
}
