package main

import (
	"slices"
	"testing"
)

// Most scenarios can have nodes of two versions, those that can keep faults and
// workers, and with any seed about half of a group's have.
func TestMixing(t *testing.T) {
	can, mixed := 0, 0
	for _, s := range scenarios() {
		m, ok := s.mixed()
		if !ok {
			continue
		}
		can++
		if err := m.check(); err != nil || len(s.Nemesis) > 0 && len(m.Nemesis) == 0 {
			t.Errorf("%s: %v, faults %v", s.Name, err, m.Nemesis)
		}
		for _, f := range m.Nemesis {
			if slices.Contains(beyondOld(), f) {
				t.Errorf("%s has %s, mixed", s.Name, f)
			}
		}
		for seed := range uint64(20) {
			a := arguments{scenarios: "ci"}
			if a.mix(s, seed).Mixed {
				mixed++
			}
			a.scenarios = s.Name
			if a.mix(s, seed).Mixed {
				t.Errorf("%s is mixed though it was not asked for", s.Name)
			}
			a.mixing = yes
			if !a.mix(s, seed).Mixed {
				t.Errorf("%s is not mixed", s.Name)
			}
		}
	}
	if can < 15 || mixed < can*20/3 || mixed > can*40/3 {
		t.Errorf("%d scenarios can be mixed, %d of %d runs were", can, mixed, can*20)
	}
}
