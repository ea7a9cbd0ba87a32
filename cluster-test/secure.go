package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// A secure run has certificates between nodes and for clients, and users, of whom one
// loses rights, and gets them back.

// Choices of --mix and --secure.
const (
	bySeed = "by-seed"
	yes    = "yes"
	no     = "no"
)

// secureOf is the share of the runs of a group that are secure: one in so many.
const secureOf = 3

// secureFaults are what happens in such a run beside the scenario's faults.
var secureFaults = []string{"rights-lost", "renewed"}

// byChoice reports whether a run is of the kind that a flag has chosen, by default by the
// seed if it is one of a group: then one in so many is, those of each scenario apart.
func (a *arguments) byChoice(how, kind string, s *Scenario, seed uint64, oneIn int) bool {
	if how == "" && slices.Contains(groups, a.scenarios) {
		how = bySeed
	}
	if how != bySeed {
		return how == yes
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(kind + s.Name))
	return rand.New(rand.NewPCG(seed, name.Sum64())).IntN(oneIn) == 0
}

// secure makes the scenario a secure one if this run is to be, and can be: the evidence
// is for figures, and what runs alone has clients of its own.
func (a *arguments) secure(s Scenario, seed uint64) Scenario {
	if s.Alone != nil || strings.HasPrefix(s.Name, evidencePrefix) ||
		!a.byChoice(a.securing, "secure ", &s, seed, secureOf) {
		return s
	}
	s.Secure = true
	if len(s.Nemesis) > 0 && a.nemesis == "" {
		s.Nemesis = append(slices.Clone(s.Nemesis), without(secureFaults, s.Nemesis)...)
	}
	return s
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(others, n) })
}

// choice checks what a flag chooses.
func choice(flag, how string) error {
	if how != "" && !slices.Contains([]string{bySeed, yes, no}, how) {
		return fmt.Errorf("--%s is %s, %s or %s, not %q", flag, yes, no, bySeed, how)
	}
	return nil
}
