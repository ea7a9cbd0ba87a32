package main

import (
	"slices"
	"testing"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/nemesis"
)

// Of a group's runs, a quarter of those that can has network namespaces, and loses no fault to that.
// No other run has, unless asked for.
func TestSeparating(t *testing.T) {
	if err := cluster.Separable(); err != nil {
		t.Skip(err)
	}
	const seeds = 4
	can, separate := 0, 0
	for _, s := range scenarios() {
		if (&arguments{scenarios: s.Name}).separate(s, 1).Namespaces ||
			(&arguments{scenarios: "ci", network: proxies}).separate(s, 1).Namespaces {
			t.Errorf("%s has namespaces though that was not asked for", s.Name)
		}
		if !(&arguments{scenarios: s.Name, network: netns}).separate(s, 1).Namespaces {
			t.Errorf("%s has no namespaces though that was asked for", s.Name)
		}
		if s.separable() {
			can += seeds
		}
		for seed := range uint64(seeds) {
			if !(&arguments{scenarios: "matrix"}).separate(s, seed).Namespaces {
				continue
			}
			separate++
			faults, err := nemesis.ByName(s.Nemesis)
			if err != nil || slices.ContainsFunc(faults, func(f nemesis.Fault) bool { return f.Shapes }) {
				t.Errorf("%s has namespaces, and faults that these cannot make (%v)", s.Name, err)
			}
		}
	}
	if can < 5*seeds || separate == 0 || separate > can/2 {
		t.Errorf("%d runs can have namespaces, %d had", can, separate)
	}
}
