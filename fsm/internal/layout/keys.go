package layout

import (
	"encoding/binary"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// JoinKey is a session's key in memtables and store: namespace, NUL, name. A
// namespace has no NUL, so order by joined key is order by namespace, then name.
func JoinKey(k turn.Key) string { return k.Namespace + "\x00" + k.Name }

// SplitKey is the reverse of JoinKey.
func SplitKey(s string) turn.Key {
	ns, name, _ := strings.Cut(s, "\x00")
	return turn.Key{Namespace: ns, Name: name}
}

// NamespaceOf returns the namespace of a joined key.
func NamespaceOf(key string) string {
	ns, _, _ := strings.Cut(key, "\x00")
	return ns
}

// DueKey orders by deadline, then key.
func DueKey(deadline int64, key string) string {
	b := make([]byte, 8, 8+len(key))
	binary.BigEndian.PutUint64(b, uint64(deadline))
	return string(append(b, key...))
}

// SplitDueKey is the reverse of DueKey.
func SplitDueKey(k string) (deadline int64, key string) {
	return int64(binary.BigEndian.Uint64([]byte(k[:8]))), k[8:]
}

// IncSize is how many bytes of an element's key are the incarnation.
const IncSize = 8

// ElementKey orders by incarnation, then name.
func ElementKey(inc uint64, name string) string {
	b := make([]byte, IncSize, IncSize+len(name))
	binary.BigEndian.PutUint64(b, inc)
	return string(append(b, name...))
}

// AfterKey returns the key that follows directly.
func AfterKey(key string) string { return key + "\x00" }

// PrefixEnd returns the upper bound of the keys that begin with prefix: the least string
// above all of them, empty if there is none.
func PrefixEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}

// TombstonePrefix is a NUL, which no namespace begins with, the length of the key, and the
// key: so the tombstones of a key are together, in the order of deletion.
func TombstonePrefix(key string) string {
	b := make([]byte, 0, 1+4+len(key))
	return string(append(binary.BigEndian.AppendUint32(append(b, 0), uint32(len(key))), key...))
}

// TombstoneKey returns the key of a tombstone: the prefix of its key, and the incarnation.
func TombstoneKey(key string, inc uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(TombstonePrefix(key)), inc))
}

// MaxSeq is above every seq, with room for one more.
const MaxSeq = ^uint64(0) - 1

// OfIncarnation reports whether a key of the blocks bucket, whatever is wrong with it, names an
// incarnation.
func OfIncarnation(k []byte, inc uint64) bool {
	if len(k) != BlockKeySize {
		return false
	}
	i, _ := SplitBlockKey(k)
	return i == inc
}

// SeqOfBlock returns the seq in a key of the blocks bucket.
func SeqOfBlock(k []byte) uint64 {
	_, seq := SplitBlockKey(k)
	return seq
}

// SplitBlockKey returns what a block's key is made of.
func SplitBlockKey(k []byte) (inc, seq uint64) {
	return binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(k[8:])
}

// BlockKeySize is the length of a block's key, in bytes.
const BlockKeySize = 16

// BlockKey returns the key of a block of an incarnation that begins at seq.
func BlockKey(inc, seq uint64) []byte {
	return AppendBlockKey(make([]byte, 0, BlockKeySize), inc, seq)
}

// AppendBlockKey appends BlockKey.
func AppendBlockKey(b []byte, inc, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, inc), seq)
}
