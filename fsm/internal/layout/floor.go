package layout

import (
	"encoding/binary"
	"hash/fnv"
)

// RevisionFloors is how many numbers serve the counters of all namespaces without keys.
const RevisionFloors = 1024

// FloorOf returns the name under which the floor of a namespace's revisions is kept among
// the namespaces. No namespace has such a name: they have no NUL.
func FloorOf(name string) string {
	h := fnv.New32a()
	h.Write([]byte(name))
	return FloorAt(int(h.Sum32() % RevisionFloors))
}

// FloorAt returns the name of one of the floors, which are in order.
func FloorAt(i int) string { return string(binary.BigEndian.AppendUint16([]byte{0}, uint16(i))) }
