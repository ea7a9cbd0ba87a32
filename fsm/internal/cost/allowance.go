// Package cost bounds the work and the memory that the operations of one log entry may take beyond the bytes of the
// entry itself: a fork, a move of many elements or a long search takes little space in the log and may cost any amount
// when it is applied.
//
// Costs are estimates in bytes, computed from the state and the entry alone, so that all nodes reject the same
// operations. What is costed how is part of what an entry does, and changes only with the cluster level. An Allowance
// belongs to the goroutine that applies entries.
package cost

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// Allowance is what the operations of one entry may still cost beyond the bytes that the
// entry brings. An entry is applied as a whole, in memory: forks, elements that are moved
// and what is taken out to be answered with would let some bytes of it need any amount.
// It is counted from the state and the entry alone, so that all nodes refuse the same.
type Allowance struct {
	Left int // of EntryAllowance
	// Whole: nothing had been spent when the command began that is being applied.
	Whole bool
	// Shortening is what sessions that keep a length by themselves may still cost, beyond Left: an
	// operation that was found to be possible stays so, whatever it shortens.
	Shortening int
	reserved   uint64
}

// EntryShortening is what one entry may cost for keeping sessions short.
const EntryShortening = 16 << 20

// BeginEntry is called before an entry is applied.
func (a *Allowance) BeginEntry() { *a = Allowance{Left: EntryAllowance(), Shortening: EntryShortening} }

// Reserve takes n off, which Spend spends first from here on, until nothing is left of it. If less is left,
// it reports an error, and takes nothing. Reserve of 0 gives up what is reserved.
func (a *Allowance) Reserve(n uint64) error {
	a.reserved = 0
	err := a.Fits(n)
	if err == nil {
		a.Take(n)
		a.reserved = n
	}
	return err
}

// Costs are counted in bytes.
const (
	// Message is what a message costs besides its payload and id. To pass one in search
	// of another costs Passed, and a byte for each PassedBytes of its payload; to pass
	// an element or a key the next two.
	Message       = 96
	Passed        = 64
	PassedBytes   = 16
	PassedElement = 16
	PassedKey     = 256
	// Look is the cost of a look at one message, at its place in a session, where an operation takes more of
	// them than it names.
	Look = 1 << 10
)

// EntryAllowance is the allowance of an entry. It lets one fork be as large as any may be, and one answer.
func EntryAllowance() int {
	l := turn.DefaultLimits() // the same on every node
	return l.ForkBytes + l.ForkMessages*(Message+l.IDBytes)
}

// BeginCommand is called before a command is applied.
func (a *Allowance) BeginCommand() { a.Whole = a.Left == EntryAllowance() }

// Fits reports an error if less than n is left.
func (a *Allowance) Fits(n uint64) error {
	switch {
	case n <= uint64(a.Left):
		return nil
	case a.Whole:
		return turn.Errorf(turn.TooLarge,
			"one operation, or transaction, may copy or return %d MiB of what is stored, or pass as much in search "+
				"of it; this is more, do it in parts", EntryAllowance()>>20)
	}
	return turn.Errorf(turn.Overloaded, "too much is being copied or searched at once; send the operation again")
}

// Take takes n off, which must have been found to fit, or else what is left.
func (a *Allowance) Take(n uint64) { a.Left -= int(min(n, uint64(a.Left))) }

// Spend takes the cost of an operation off the allowance, before it changes anything.
// What is refused because of what was read uses up the rest, so that not as much is read
// again and again.
func (a *Allowance) Spend(n uint64) error {
	if n <= a.reserved {
		a.reserved -= n
		return nil
	}
	err := a.Fits(n)
	a.Take(n)
	return err
}

// Search is called before messages of a list are passed in search of one. If an entry
// has spent all, nothing is searched any more.
func (a *Allowance) Search() error {
	return a.Fits(1)
}

// Bound has walks of a view end where the allowance is used up: all else waits for them,
// however long the list is.
func (a *Allowance) Bound(v *memtable.View) { v.Most = uint64(a.Left) / Passed }

// Searched takes the cost of the walks of a view off the allowance. It returns an error if they
// ended because that was used up.
func (a *Allowance) Searched(v *memtable.View) error { return a.Spend(Passed * v.Passed) }

// PassedElements takes the cost of passing n elements off the allowance, or what is left.
func (a *Allowance) PassedElements(n uint64) { a.Take(PassedElement * n) }

// PassedKeys takes the cost of passing n keys off the allowance, or what is left.
func (a *Allowance) PassedKeys(n uint64) { a.Take(PassedKey * n) }

// SearchList calls fn with the total elements of a list from an end of it on, until it returns
// false, and takes the cost of that off the allowance. A search ends with an error where
// that is used up: all others wait for it, however long the list is.
func (a *Allowance) SearchList(v *memtable.View, from turn.Side, total uint64, fn func(*layout.Record) bool) error {
	return a.search(v, fn, func(fn func(*layout.Record) bool) error { return v.List(from, total, fn) })
}

// SearchNewest is SearchList for the messages with seq ≤ below, the highest first.
func (a *Allowance) SearchNewest(v *memtable.View, below uint64, fn func(*layout.Record) bool) error {
	return a.search(v, fn, func(fn func(*layout.Record) bool) error {
		return v.Newest(memtable.AnySide, below, fn)
	})
}

func (a *Allowance) search(
	v *memtable.View, fn func(*layout.Record) bool, walk func(fn func(*layout.Record) bool) error,
) error {
	if err := a.Search(); err != nil {
		return err
	}
	a.Bound(v)
	defer v.Passing()()
	payloads, left := uint64(0), uint64(a.Left)
	if err := walk(func(r *layout.Record) bool {
		payloads += uint64(len(r.Data)) / PassedBytes
		return Passed*v.Passed+payloads <= left && fn(r)
	}); err != nil {
		return err
	}
	return a.Spend(Passed*v.Passed + payloads)
}

// OfCopy is what a copy of the record costs.
func OfCopy(r *layout.Record) uint64 { return Message + uint64(len(r.ID)+len(r.Data)) }

// SmallPop is how many messages are taken out without a look at their sizes before.
const SmallPop = 4

// TookOut takes the cost of messages that were taken out off the allowance.
func (a *Allowance) TookOut(rs []layout.Record) {
	for i := range rs {
		a.Take(OfCopy(&rs[i]))
	}
}
