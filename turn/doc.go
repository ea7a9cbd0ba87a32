// Package turn defines the types that all parts of turnlog share: sessions and messages, the operations
// and queries on them, their results, limits, and the kinds of errors.
//
// The semantics of each operation are documented on its type. The state machine (package fsm)
// implements them; the interfaces (RESP, HTTP, Go client, command line) translate to and from these
// types. Of turnlog, the package imports internal/toolcalls alone.
package turn

import "time"

// DefaultNamespace is the namespace of callers that name none. Redis's SELECT n selects the namespace
// that is named n.
const DefaultNamespace = "0"

// Key names a session: a key within a namespace.
type Key struct {
	Namespace string // 1–64 bytes of [A-Za-z0-9._-]
	Name      string // 1–512 arbitrary bytes
}

// NewMessage is a message that is not part of a session yet.
type NewMessage struct {
	// ID is an idempotency key of at most 64 bytes: an append that is repeated under the same ids is
	// stored once, see Append. Package client and the command line generate ids where they are empty. A
	// message that reaches a node without an id is stored each time that it is sent.
	ID string
	// Data is the payload, stored and returned byte for byte.
	Data []byte
}

// Message is a message of a session.
type Message struct {
	Seq  uint64 // from 1, rising within a session, never reused
	Time int64  // cluster time of the append, in Unix milliseconds
	ID   string
	Data []byte
}

// Session describes a key at one moment: a session, or a value of another type. For a value of another
// type, the fields about messages have no meaning, unless their comments say otherwise.
type Session struct {
	Key  Key
	Type Type
	// Incarnation distinguishes a session from a deleted one of the same key.
	Incarnation uint64
	Count       uint64 // messages, or elements, held
	Bytes       uint64 // payload bytes held; of elements as stored, names included
	First       uint64 // seq of the oldest message held; 0 if there is none
	Last        uint64 // highest seq ever given in this session; 0 if none; of a stream, the entries ever added
	Revision    uint64 // of the last change: the namespace's counter, see Result
	Created     int64  // cluster time, Unix milliseconds
	Updated     int64  // cluster time of the last change, Unix milliseconds
	ExpiresAt   int64  // cluster time at which it expires; 0: never
	Slide       int64  // milliseconds by which each append renews ExpiresAt; 0: it does not
	Retention   Retention
	Metadata    map[string]string
	// LastEntry is the highest id ever assigned in a stream.
	LastEntry EntryID
}

// Held reports whether the key exists as Redis sees it: an empty list does not,
// an empty stream does.
func (s *Session) Held() bool { return s.Count > 0 || s.Type == TypeStream }

// Consistency says how fresh the answer to a Query must be.
type Consistency struct {
	Level Level
	// MaxAge bounds the age of the answer at level Bounded.
	MaxAge time.Duration
}

// Level is a degree of freshness.
type Level uint8

const (
	// Linearizable reads see every write that was acknowledged before they began.
	Linearizable Level = iota
	// Bounded reads see every write that was acknowledged MaxAge before they began.
	Bounded
	// Stale reads see some past state of the node that answers, of a time at which it was a member.
	Stale
)
