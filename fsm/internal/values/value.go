package values

import (
	"strconv"

	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// Keyspace is what the operations on values need of the state, as of the entry that is
// applied. An owned head is one that Own or Begin returned.
type Keyspace interface {
	// Find returns the head of a key, whatever its type, nil if there is none. It deletes a
	// key that has expired.
	Find(key string) (*memtable.Head, error)
	// Own returns the head as one that may be changed.
	Own(key string, h *memtable.Head) *memtable.Head
	// Begin makes a value without elements under a key that holds nothing.
	Begin(key string, typ turn.Type) *memtable.Head
	// Remove deletes a key.
	Remove(key string, h *memtable.Head)
	// Settle finishes a change of an owned head's elements; before says whether Redis saw the
	// key before it. A value without elements is removed, another gets its new revision,
	// which is returned; of a removed one, that of the removal or a higher one.
	Settle(key string, h *memtable.Head, before bool) (revision uint64)
	// Revision returns that of the last change in the namespace of key, or a higher one.
	Revision(key string) uint64
	// SetDeadline changes the deadline of an owned head; 0 removes it.
	SetDeadline(key string, h *memtable.Head, deadline, slide int64)

	Elements
	Limits
}

// Elements are those of values.
type Elements interface {
	// Elements returns the elements of a value.
	Elements(h *memtable.Head) (memtable.Elements, error)
	// PutElement gives an element of an owned head a value, which is not written to again.
	PutElement(h *memtable.Head, name string, value []byte)
	// DeleteElement deletes one that is there.
	DeleteElement(h *memtable.Head, name string)
	// DropBelow deletes all elements of an owned head with names below one, without a look
	// at them.
	DropBelow(h *memtable.Head, name string)
}

// Limits are cluster time, in Unix milliseconds, and what an entry may cost.
type Limits interface {
	// Now returns the cluster time.
	Now() int64
	// After returns the cluster time in so many milliseconds.
	After(ms int64) int64
	// Spend takes n, in bytes of memory about, off what the entry may cost. It returns an
	// error if less is left; then the operation must not change anything.
	Spend(n uint64) error
}

// ops applies operations.
type ops struct{ Keyspace }

// value is Find for an operation on a type other than lists, to which an empty
// session is nothing.
func (v ops) value(key string, typ turn.Type) (*memtable.Head, error) {
	h, err := v.Find(key)
	if err != nil || !h.Held() {
		return nil, err
	}
	return h, h.CheckType(typ)
}

// ownValue returns the head that value found, to be changed; if it found none, a
// new one.
func (v ops) ownValue(key string, h *memtable.Head, typ turn.Type) (*memtable.Head, error) {
	if h != nil {
		return v.Own(key, h), nil
	}
	empty, err := v.Find(key)
	if err != nil {
		return nil, err
	}
	if empty != nil {
		v.Remove(key, empty)
	}
	return v.Begin(key, typ), nil
}

// put gives an element of an owned head a value, which is not written to again.
// old is its value before, if it had one.
func (v ops) put(h *memtable.Head, name string, value, old []byte, had bool) {
	if !had {
		h.Live[0]++
		h.Bytes += uint64(len(name))
	}
	h.Bytes += uint64(len(value)) - uint64(len(old))
	v.PutElement(h, name, value)
}

// take removes an element, whose value is old, from an owned head.
func (v ops) take(h *memtable.Head, name string, old []byte) {
	h.Live[0]--
	h.Bytes -= uint64(len(name) + len(old))
	v.DeleteElement(h, name)
}

// settle finishes an operation on the elements of an owned head, which held
// something before or did not.
func (v ops) settle(key string, h *memtable.Head, before bool, r *turn.Result) {
	r.Count = h.Count()
	r.Revision = v.Settle(key, h, before)
}

// parseInt reads an integer as Redis does: in the one form that it would write.
func parseInt(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == string(b)
}

// addInt adds to the integer that an element holds, 0 if it holds none.
func addInt(old []byte, had bool, delta int64, what string) (int64, error) {
	n := int64(0)
	if had {
		var ok bool
		if n, ok = parseInt(old); !ok {
			return 0, turn.Errorf(turn.Invalid, "%s", what)
		}
	}
	sum := n + delta
	if (sum > n) != (delta > 0) && delta != 0 {
		return 0, turn.Errorf(turn.Invalid, "increment or decrement would overflow")
	}
	return sum, nil
}

func formatInt(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
