package fsm

import (
	"strconv"

	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// values applies the operations on values of other types than lists: strings, hashes, sets,
// sorted sets and streams. Of the state it reaches what keyspace has, and no more.
type values struct{ keyspace }

// keyspace is what the operations on values need of the state. All of it is only for use in
// Apply. An owned head is one that own or begin returned.
type keyspace interface {
	// find returns the head of a key, whatever its type, nil if there is none. It deletes a
	// key that has expired.
	find(key string) (*memtable.Head, error)
	// own returns the head as one that may be changed.
	own(key string, h *memtable.Head) *memtable.Head
	// begin makes a value without elements under a key that holds nothing.
	begin(key string, typ turn.Type) *memtable.Head
	// remove deletes a key.
	remove(key string, h *memtable.Head)
	// changed gives the changed value of an owned head its new revision.
	changed(key string, h *memtable.Head)
	// count updates the number of keys of a namespace that Redis sees, given whether key
	// was one of them before and is after.
	count(key string, before, after bool)
	// revision returns that of the last change in the namespace of key, or a higher one.
	revision(key string) uint64
	// setDeadline changes the deadline of an owned head; 0 removes it.
	setDeadline(key string, h *memtable.Head, deadline, slide int64)

	keyElements
	limits
}

// keyElements are the elements of values.
type keyElements interface {
	elements(h *memtable.Head) (memtable.Elements, error)
	// PutElement gives an element of an owned head a value, which is not written to again.
	putElement(h *memtable.Head, name string, value []byte)
	// DeleteElement deletes one that is there.
	deleteElement(h *memtable.Head, name string)
	// dropBelow deletes all elements of an owned head with names below one, without a look
	// at them.
	dropBelow(h *memtable.Head, name string)
}

// limits are cluster time, and what an entry may cost.
type limits interface {
	now() int64
	after(ms int64) int64
	spend(n uint64) error
}

// value is find for an operation on a type other than lists, to which an empty
// session is nothing.
func (v values) value(key string, typ turn.Type) (*memtable.Head, error) {
	h, err := v.find(key)
	if err != nil || !h.Held() {
		return nil, err
	}
	return h, checkType(h, typ)
}

// ownValue returns the head that value found, to be changed; if it found none, a
// new one.
func (v values) ownValue(key string, h *memtable.Head, typ turn.Type) (*memtable.Head, error) {
	if h != nil {
		return v.own(key, h), nil
	}
	empty, err := v.find(key)
	if err != nil {
		return nil, err
	}
	if empty != nil {
		v.remove(key, empty)
	}
	return v.begin(key, typ), nil
}

// put gives an element of an owned head a value, which is not written to again.
// old is its value before, if it had one.
func (v values) put(h *memtable.Head, name string, value, old []byte, had bool) {
	if !had {
		h.Live[0]++
		h.Bytes += uint64(len(name))
	}
	h.Bytes += uint64(len(value)) - uint64(len(old))
	v.putElement(h, name, value)
}

// take removes an element, whose value is old, from an owned head.
func (v values) take(h *memtable.Head, name string, old []byte) {
	h.Live[0]--
	h.Bytes -= uint64(len(name) + len(old))
	v.deleteElement(h, name)
}

// settleValue finishes an operation on the elements of an owned head, which held
// something before or did not.
func (v values) settleValue(key string, h *memtable.Head, before bool, r *turn.Result) {
	r.Count = h.Count()
	v.count(key, before, h.Held())
	if !h.Held() {
		v.remove(key, h)
		r.Revision = v.revision(key)
		return
	}
	v.changed(key, h)
	r.Revision = h.Revision
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
