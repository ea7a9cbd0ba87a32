package main

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

var writeRecord = flag.Bool("record", false, "write the table of mutants")

// The table has all mutants and catchers, as the code has them, and no others.
func TestTablesOfMutants(t *testing.T) {
	b, err := os.ReadFile(recordName)
	if err != nil {
		t.Fatal(err)
	}
	known := readFigures(string(b))
	want := writeTable(known)
	if *writeRecord {
		if err := os.WriteFile(recordName, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(b) != want {
		t.Errorf("%s is not what the code has; write it with: go test ./cluster-test -run TestTables -args -record",
			recordName)
	}
	pairings := map[pairing]bool{}
	for _, m := range mutants() {
		for i := range m.Catchers {
			p := pairing{m.Name, m.Catchers[i].String()}
			if pairings[p] {
				t.Errorf("%s: two catchers %s", p.mutant, p.catcher)
			}
			pairings[p] = true
			if strings.Contains(m.About, "|") {
				t.Errorf("%s: its description cannot be in a table", m.Name)
			}
		}
	}
	for p, f := range known {
		if f != noFigures && pairings[p] && strings.Count(string(f), "|") != 3 {
			t.Errorf("%v: %q are no figures", p, f)
		}
	}
}

// What a hunt found is what the table says later.
func TestFigures(t *testing.T) {
	m := mutants()[0]
	h := &hunt{arguments: &arguments{}, target: target{&m, &m.Catchers[0]},
		hunts: []hunted{{runs: 1, took: 3 * time.Second}, {runs: 0, took: time.Second}}}
	f := h.figures(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	if want := figures("1 of 2 | 1 of 1 | 3s | 2 Jan 2026"); f != want {
		t.Errorf("%q, want %q", f, want)
	}
	p := pairing{m.Name, m.Catchers[0].String()}
	if got := readFigures(writeTable(map[pairing]figures{p: f})); got[p] != f || len(got) < len(mutants()) {
		t.Errorf("%q of %d", got[p], len(got))
	}
}
