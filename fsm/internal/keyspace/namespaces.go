package keyspace

import (
	"strings"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
)

// namespaces are what is known of each namespace that has keys, and the floors of the others.
type namespaces struct {
	byName map[string]*layout.Namespace
	all    uint64           // see Count
	tables *memtable.Tables // whose active memtable has what changes
}

// take replaces what is known.
func (ns *namespaces) take(known map[string]*layout.Namespace) {
	ns.byName, ns.all = known, 0
	for name, n := range known {
		if !layout.Hidden(name) {
			ns.all += n.Keys
		}
	}
}

// namespace returns what is known of a namespace as part of the active memtable, to be
// changed. What another memtable holds is not changed.
func (ns *namespaces) namespace(name string) *layout.Namespace {
	old := ns.byName[name]
	if old != nil && ns.tables.Active.Namespaces[name] == old {
		return old
	}
	n := new(layout.Namespace)
	if old != nil {
		*n = *old
	}
	name = strings.Clone(name) // it is part of a key
	ns.byName[name], ns.tables.Active.Namespaces[name] = n, n
	return n
}

// Count returns how many keys all namespaces have that clients can name, and Redis sees.
func (ns *namespaces) Count() uint64 { return ns.all }

// Known returns of how many namespaces, and floors, something is known.
func (ns *namespaces) Known() int { return len(ns.byName) }

// CountIn returns how many keys of a namespace Redis sees.
func (ns *namespaces) CountIn(name string) uint64 {
	if n := ns.byName[name]; n != nil {
		return n.Keys
	}
	return 0
}

// CountKey updates the number of keys of a namespace that Redis sees, given whether
// a key was one of them before and is after.
func (ns *namespaces) CountKey(key string, before, after bool) {
	if before == after {
		return
	}
	name := layout.NamespaceOf(key)
	n := ns.namespace(name)
	if after {
		n.Keys++
	} else {
		n.Keys--
	}
	switch {
	case layout.Hidden(name):
	case after:
		ns.all++
	default:
		ns.all--
	}
	if n.Keys == 0 && n.Revision == 0 {
		delete(ns.byName, name)
	}
}

// Revisions number the changes of a namespace: each has a counter of its own, which only
// rises, whatever is deleted. Of those without keys no counter is kept: one of 1,024 floors,
// above which none of their counters was, serves each, and it goes on from that when it has
// keys again.

// Revision returns the revision of the last change in a key's namespace, or a higher one
// if that has no keys.
func (ns *namespaces) Revision(key string) uint64 {
	if n := ns.byName[layout.NamespaceOf(key)]; n != nil && n.Revision != 0 {
		return n.Revision
	}
	if floor := ns.byName[layout.FloorOf(layout.NamespaceOf(key))]; floor != nil {
		return floor.Revision
	}
	return 0
}

// advance gives a change of a key its revision.
func (ns *namespaces) advance(key string) uint64 {
	next, name := ns.Revision(key)+1, layout.NamespaceOf(key)
	switch n := ns.byName[name]; {
	case n != nil && n.Keys > 0:
		ns.namespace(name).Revision = next
		return next
	case n != nil:
		*ns.namespace(name) = layout.Namespace{} // to be removed from the store
		delete(ns.byName, name)
	}
	floor := ns.namespace(layout.FloorOf(name))
	floor.Revision = max(floor.Revision, next)
	return next
}
