package mutation

import (
	"testing"
	"time"
)

// What a hunt found is what the table says later.
func TestFigures(t *testing.T) {
	m := Mutant{Name: "broken", About: "nothing works",
		Catchers: []Catcher{{Test: "TestIt", Runs: 1}, {Test: "TestAgain"}}}
	families := []Family{{"All", []Mutant{m}}}
	h := &hunt{Hunts: &Hunts{}, Target: Target{&m, &m.Catchers[0]},
		hunts: []hunted{{runs: 1, took: 3 * time.Second}, {runs: 0, took: time.Second}}}
	f := h.figures(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	if want := figures("1 of 2 | 1 of 1 | 3s | 2 Jan 2026"); f != want {
		t.Errorf("%q, want %q", f, want)
	}
	p, other := pairing{m.Name, m.Catchers[0].String()}, pairing{m.Name, m.Catchers[1].String()}
	text := writeTable(families, map[pairing]figures{p: f, {"gone", "TestIt"}: f})
	if got := readFigures(text); len(got) != 3 || got[p] != f || got[other] != noFigures {
		t.Errorf("%q", got)
	}
	if again := Table(families, text); again != text {
		t.Errorf("written again:\n%s", again)
	}
}
