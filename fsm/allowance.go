package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// allowance is what the operations of one entry may still cost beyond the bytes that the
// entry brings. An entry is applied as a whole, in memory: forks, elements that are moved
// and what is taken out to be answered with would let some bytes of it need any amount.
// It is counted from the state and the entry alone, so that all nodes refuse the same.
type allowance struct {
	left int
	// whole: nothing had been spent when the command began that is being applied.
	whole bool
}

const (
	// messageCost is what a message costs besides its payload and id. To pass one in search
	// of another costs passedCost, and a byte for each passedBytes of its payload; to pass
	// an element or a key the next two.
	messageCost   = 96
	passedCost    = 64
	passedBytes   = 16
	passedElement = 16
	passedKey     = 256
)

// entryAllowance lets one fork be as large as any may be, and one answer.
func entryAllowance() int {
	l := turn.DefaultLimits() // the same on every node
	return l.ForkBytes + l.ForkMessages*(messageCost+l.IDBytes)
}

func (a *allowance) begin() { a.whole = a.left == entryAllowance() }

// fits reports an error if less than n is left.
func (a *allowance) fits(n uint64) error {
	switch {
	case n <= uint64(a.left):
		return nil
	case a.whole:
		return turn.Errorf(turn.TooLarge,
			"one operation, or transaction, may copy or return %d MiB of what is stored, or pass as much in search "+
				"of it; "+
				"this is more, do it in parts", entryAllowance()>>20)
	}
	return turn.Errorf(turn.Overloaded, "too much is being copied or searched at once; send the operation again")
}

// take takes n off, which must have been found to fit, or else what is left.
func (a *allowance) take(n uint64) { a.left -= int(min(n, uint64(a.left))) }

// spend takes the cost of an operation off the allowance, before it changes anything.
// What is refused because of what was read uses up the rest, so that not as much is read
// again and again.
func (a *allowance) spend(n uint64) error {
	err := a.fits(n)
	a.take(n)
	return err
}

// search is called before messages of a list are passed in search of one. If an entry
// has spent all, nothing is searched any more.
func (a *allowance) search() error {
	return a.fits(1)
}

// bound has walks of a view end where the allowance is used up: all else waits for them,
// however long the list is.
func (a *allowance) bound(v *memtable.View) { v.Most = uint64(a.left) / passedCost }

// searched takes the cost of the walks of a view off the allowance. It returns an error if they
// ended because that was used up.
func (a *allowance) searched(v *memtable.View) error { return a.spend(passedCost * v.Passed) }

func (a *allowance) passedElements(n uint64) { a.take(passedElement * n) }

func (a *allowance) passedKeys(n uint64) { a.take(passedKey * n) }

// searchList calls fn with the total elements of a list from an end of it on, until it returns
// false, and takes the cost of that off the allowance. A search ends with an error where
// that is used up: all others wait for it, however long the list is.
func (a *allowance) searchList(v *memtable.View, from turn.Side, total uint64, fn func(*layout.Record) bool) error {
	if err := a.search(); err != nil {
		return err
	}
	a.bound(v)
	defer v.Passing()()
	payloads, left := uint64(0), uint64(a.left)
	if err := v.List(from, total, func(r *layout.Record) bool {
		payloads += uint64(len(r.Data)) / passedBytes
		return passedCost*v.Passed+payloads <= left && fn(r)
	}); err != nil {
		return err
	}
	return a.spend(passedCost*v.Passed + payloads)
}

// copyCost is what a copy of the record costs.
func copyCost(r *layout.Record) uint64 { return messageCost + uint64(len(r.ID)+len(r.Data)) }

// smallPop is how many messages are taken out without a look at their sizes before.
const smallPop = 4

// tookOut takes the cost of messages that were taken out off the allowance.
func (a *allowance) tookOut(rs []layout.Record) {
	for i := range rs {
		a.take(copyCost(&rs[i]))
	}
}
