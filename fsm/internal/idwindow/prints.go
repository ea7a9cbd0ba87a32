package idwindow

// Prints is a set of fingerprints of ids.
type Prints struct {
	all  map[uint32]bool
	bits [1 << 10]uint64 // whether one of a kind is in all, so that most need no look-up
}

// NewPrints returns an empty set, with space for so many.
func NewPrints(most int) *Prints { return &Prints{all: make(map[uint32]bool, most)} }

func (p *Prints) Add(print uint32) {
	p.all[print] = true
	p.bits[print>>6&(1<<10-1)] |= 1 << (print & 63)
}

func (p *Prints) Has(print uint32) bool {
	return p.bits[print>>6&(1<<10-1)]&(1<<(print&63)) != 0 && p.all[print]
}
