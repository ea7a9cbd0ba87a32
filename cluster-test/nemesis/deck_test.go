package nemesis

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A fault takes place once in each round; one without a target gets a second chance in it.
func TestDeck(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := deck{rand: r}
	for _, name := range []string{"a", "b", "c", "d"} {
		d.all = append(d.all, Fault{Name: name})
	}
	for round := range 100 {
		var dealt []string
		for i := 0; i == 0 || len(d.left) > 0; i++ {
			f := d.deal()
			dealt = append(dealt, f.Name)
			if f.Name == "b" {
				d.putBack(f)
			}
			if r.IntN(2) == 0 {
				d.deferred(f)
				if again := d.deal(); again.Name != f.Name {
					t.Fatalf("round %d: %s deferred, %s dealt", round, f.Name, again.Name)
				}
			}
		}
		once := slices.Compact(slices.Sorted(slices.Values(dealt)))
		if len(once) != 4 || len(dealt) > 5 {
			t.Fatalf("round %d dealt %q", round, dealt)
		}
		if b := slices.Index(dealt, "b"); b < 3 && dealt[4] != "b" {
			t.Fatalf("round %d dealt %q: no second chance for b", round, dealt)
		}
	}
}
