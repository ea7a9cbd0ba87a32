package main

import "testing"

// A third of a group's runs is secure, where that can be, and no other unless asked for.
func TestSecuring(t *testing.T) {
	const seeds = 60
	can, secure := 0, 0
	for _, s := range scenarios() {
		asked := (&arguments{scenarios: s.Name, securing: yes}).secure(s, 1)
		if (&arguments{scenarios: s.Name}).secure(s, 1).Secure ||
			(&arguments{scenarios: "ci", securing: no}).secure(s, 1).Secure {
			t.Errorf("%s is secure though it was not asked for", s.Name)
		}
		if !asked.Secure {
			continue
		}
		can++
		if err := asked.check(); err != nil || len(s.Nemesis) > 0 && len(without(secureFaults, asked.Nemesis)) > 0 {
			t.Errorf("%s: %v, faults %v", s.Name, err, asked.Nemesis)
		}
		for seed := range uint64(seeds) {
			if (&arguments{scenarios: "matrix"}).secure(s, seed).Secure {
				secure++
			}
		}
	}
	if n := can * seeds; can < 20 || secure < n/4 || secure > n*5/12 {
		t.Errorf("%d scenarios can be secure, %d of %d runs were", can, secure, n)
	}
}
