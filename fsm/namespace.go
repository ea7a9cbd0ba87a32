package fsm

import (
	"encoding/binary"
	"hash/fnv"
	"strings"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// revisionFloors is how many numbers serve the counters of all namespaces without keys.
const revisionFloors = 1024

// namespace is what the state holds of a namespace besides its keys, as long as it has some;
// or, without keys, a floor of revisions, see floorOf.
type namespace struct {
	keys     uint64 // that Redis sees
	revision uint64 // that of the last change; 0: there was none
}

func (n *namespace) encode() []byte {
	return binary.AppendUvarint(uvarint(n.keys), n.revision)
}

func decodeNamespace(b []byte) (*namespace, error) {
	r := layout.NewReader(b)
	n := &namespace{keys: r.Uint(), revision: r.Uint()}
	return n, r.End("namespace")
}

// namespaceOf returns the namespace of a joined key.
func namespaceOf(key string) string {
	ns, _, _ := strings.Cut(key, "\x00")
	return ns
}

// namespace returns what is known of a namespace as part of the active memtable, to be
// changed. What another memtable holds is not changed.
func (m *Machine) namespace(name string) *namespace {
	old := m.namespaces[name]
	if old != nil && m.active.namespaces[name] == old {
		return old
	}
	n := new(namespace)
	if old != nil {
		*n = *old
	}
	name = strings.Clone(name) // it is part of a key
	m.namespaces[name], m.active.namespaces[name] = n, n
	return n
}

// keys returns how many keys of a namespace Redis sees.
func (m *Machine) keys(name string) uint64 {
	if n := m.namespaces[name]; n != nil {
		return n.keys
	}
	return 0
}

// count updates the number of keys of a namespace that Redis sees, given whether
// a key was one of them before and is after.
func (m *Machine) count(key string, before, after bool) {
	if before == after {
		return
	}
	name := namespaceOf(key)
	n := m.namespace(name)
	if after {
		n.keys++
	} else {
		n.keys--
	}
	if n.keys == 0 && n.revision == 0 {
		delete(m.namespaces, name)
	}
}

// Revisions number the changes of a namespace: each has a counter of its own, which only
// rises, whatever is deleted. Of those without keys no counter is kept: one of 1,024 floors,
// above which none of their counters was, serves each, and it goes on from that when it has
// keys again.

// floorOf returns the name under which the floor of a namespace's revisions is kept among
// the namespaces. No namespace has such a name: they have no NUL.
func floorOf(name string) string {
	h := fnv.New32a()
	h.Write([]byte(name))
	return string(binary.BigEndian.AppendUint16([]byte{0}, uint16(h.Sum32()%revisionFloors)))
}

// revision returns the revision of the last change in a key's namespace, or a higher one
// if that has no keys.
func (m *Machine) revision(key string) uint64 {
	if n := m.namespaces[namespaceOf(key)]; n != nil && n.revision != 0 {
		return n.revision
	}
	if floor := m.namespaces[floorOf(namespaceOf(key))]; floor != nil {
		return floor.revision
	}
	return 0
}

// advance gives a change of a key its revision.
func (m *Machine) advance(key string) uint64 {
	next, name := m.revision(key)+1, namespaceOf(key)
	switch n := m.namespaces[name]; {
	case n != nil && n.keys > 0:
		m.namespace(name).revision = next
		return next
	case n != nil:
		*m.namespace(name) = namespace{} // to be removed from the store
		delete(m.namespaces, name)
	}
	floor := m.namespace(floorOf(name))
	floor.revision = max(floor.revision, next)
	return next
}
