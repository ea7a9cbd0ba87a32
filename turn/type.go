package turn

// Type is the type of the value that a key holds. A session is a list; the others are Redis's types. An
// operation on a key that holds another type fails with WrongType.
//
// A key that loses its last element is deleted, unless it is a list or a stream. An empty session
// stays, with its numbering and metadata, but does not count as a value: an operation that creates a
// value of another type under its key deletes it.
type Type uint8

const (
	TypeNone   Type = iota // nothing
	TypeList               // a session
	TypeString             // one byte string
	TypeHash               // fields with values
	TypeSet                // members
	TypeZSet               // members with scores, in the order of score, then member
	TypeStream             // entries, in the order of their ids
)

// types holds the names that Redis gives to types.
var types = [...]string{"none", "list", "string", "hash", "set", "zset", "stream"}

// String returns the name of t as Redis's TYPE says it.
func (t Type) String() string {
	if int(t) < len(types) {
		return types[t]
	}
	return "unknown"
}

// ParseType returns the Type whose name is s.
func ParseType(s string) (Type, bool) {
	for t, name := range types {
		if name == s {
			return Type(t), true
		}
	}
	return TypeNone, false
}

// Element is a part of a value, as an answer shows it: a string, a field of a
// hash, a member of a set or sorted set.
type Element struct {
	Name  string // of the field, or the member
	Value []byte // of the field
	Score float64
	// Missing: there is no such element. Only where elements were asked for by name.
	Missing bool
}

// Field is a field of a hash with its value, a pair of a stream's entry, or a
// member of a set, which has no value.
type Field struct {
	Name  string
	Value []byte
}
