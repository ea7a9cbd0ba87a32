package nemesis

import (
	"math/rand/v2"
	"slices"
)

// deck deals faults in a random order, each once before any comes again. It is for one
// goroutine.
type deck struct {
	all      []Fault
	rand     *rand.Rand
	left     []Fault // the last is dealt next
	returned []string
}

func (d *deck) deal() Fault {
	if len(d.left) == 0 {
		d.left, d.returned = slices.Clone(d.all), nil
		d.rand.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	f := d.left[len(d.left)-1]
	d.left = d.left[:len(d.left)-1]
	return f
}

// deferred has a fault dealt again at once.
func (d *deck) deferred(f Fault) { d.left = append(d.left, f) }

// putBack has a fault that did not take place dealt once more, after all that are left.
// Where that is not possible before the next round, or was done in this one, it waits for
// the next.
func (d *deck) putBack(f Fault) {
	if len(d.left) == 0 || slices.Contains(d.returned, f.Name) {
		return
	}
	d.returned = append(d.returned, f.Name)
	d.left = slices.Insert(d.left, 0, f)
}
