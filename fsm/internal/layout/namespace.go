package layout

import (
	"encoding/binary"
	"strings"
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

// TransactionsNamespace has the answers to transactions that took place, as strings: each by its
// id, the namespace of its keys and, from turn.Level4 on, the keys. No client gets at it: no namespace may have that
// name.
const TransactionsNamespace = "~transactions"

// Hidden reports whether a namespace is one that no client can name: of answers to transactions, or
// of an index.
func Hidden(name string) bool { return strings.HasPrefix(name, "~") }
