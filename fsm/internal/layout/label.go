package layout

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// LabelsNamespace has the index of labels: for each label of a namespace, of one value, a hash. Its
// fields are the revisions of the sessions that carry it, the highest one first, with their names. No
// client gets at it: no namespace may have that name.
const LabelsNamespace = "~labels"

// LabelKey returns the joined key of a label's hash: neither the namespace nor the label's name has a NUL.
func LabelKey(namespace string, l turn.Label) string {
	return JoinKey(turn.Key{Namespace: LabelsNamespace, Name: namespace + "\x00" + l.Name + "\x00" + l.Value})
}

// LabelFieldSize is how many bytes a field of an index has.
const LabelFieldSize = 8

// LabelField returns the field of the session that changed last at a revision.
func LabelField(revision uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, ^revision))
}

// LabelRevision is the reverse of LabelField.
func LabelRevision(field string) uint64 { return ^binary.BigEndian.Uint64([]byte(field)) }
