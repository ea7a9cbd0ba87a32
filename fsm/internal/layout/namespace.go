package layout

import (
	"encoding/binary"
)

// Namespace is what the state holds of a namespace besides its keys, as long as it has some;
// or, without keys, a floor of revisions.
type Namespace struct {
	Keys     uint64 // that Redis sees
	Revision uint64 // that of the last change; 0: there was none
}

// Encode returns the stored form, without its seal.
func (n *Namespace) Encode() []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, n.Keys), n.Revision)
}

// DecodeNamespace is the reverse of Encode.
func DecodeNamespace(b []byte) (*Namespace, error) {
	r := NewReader(b)
	n := &Namespace{Keys: r.Uint(), Revision: r.Uint()}
	return n, r.End("namespace")
}
