package turn

import (
	"errors"
	"fmt"
	"math"
)

// Kind is the class of an error. Kinds are sent as numbers, so new ones are added only at the end of
// the list.
type Kind uint8

const (
	Internal     Kind = iota // a defect in turnlog; the operation did not take place
	Invalid                  // the request is malformed
	TooLarge                 // a limit on size or count was exceeded
	NotFound                 // the session, or what it should hold, does not exist
	Exists                   // something exists that must not
	Conflict                 // the revision is not the expected one, or only some ids of a batch are known
	IDReused                 // a message has the id of an earlier one, but another payload
	WrongType                // the key holds another type of value
	Overloaded               // a queue is full
	Unavailable              // no leader, or the node is stopping; surely not applied
	Unknown                  // the write may or may not have taken place
	ReadOnly                 // no disk space; reads work, writes do not
	Newer                    // data written by a newer version of turnlog
	Corrupt                  // stored data fails its checksum
	Unauthorized             // credentials are missing or wrong
	Forbidden                // credentials do not allow this
)

// None means that there is no error. No *Error has it, and it is never sent.
const None Kind = math.MaxUint8

// kinds holds, by Kind: its code on the wire, and whether sending the same
// request again may succeed.
var kinds = [...]struct {
	code  string
	retry bool
}{
	Internal:     {"INTERNAL", false},
	Invalid:      {"INVALID", false},
	TooLarge:     {"TOO_LARGE", false},
	NotFound:     {"NOT_FOUND", false},
	Exists:       {"EXISTS", false},
	Conflict:     {"CONFLICT", false},
	IDReused:     {"ID_REUSED", false},
	WrongType:    {"WRONG_TYPE", false},
	Overloaded:   {"OVERLOADED", true},
	Unavailable:  {"UNAVAILABLE", true},
	Unknown:      {"UNKNOWN_OUTCOME", false},
	ReadOnly:     {"READ_ONLY", true},
	Newer:        {"NEWER_VERSION", false},
	Corrupt:      {"CORRUPT", false},
	Unauthorized: {"UNAUTHORIZED", false},
	Forbidden:    {"FORBIDDEN", false},
}

// String returns the code of k as every API writes it, such as "CONFLICT"; "NONE" of None.
func (k Kind) String() string {
	switch {
	case int(k) < len(kinds):
		return kinds[k].code
	case k == None:
		return "NONE"
	}
	return "INTERNAL"
}

// ParseKind returns the Kind whose code is s.
func ParseKind(s string) (Kind, bool) {
	for k := range kinds {
		if kinds[k].code == s {
			return Kind(k), true
		}
	}
	return Internal, false
}

// Error is the error of an operation.
type Error struct {
	Kind    Kind
	Message string
	// Revision is the session's current revision when Kind is Conflict; 0 when
	// the session does not exist.
	Revision uint64
	// Condition and Step say which condition or step of a transaction with All failed, counted from 1;
	// 0: none.
	Condition int
	Step      int
}

func (e *Error) Error() string { return e.Kind.String() + ": " + e.Message }

// Applied reports whether the write may have taken place. False means that it did not.
func (e *Error) Applied() bool { return e.Kind == Unknown }

// Outcome is "unknown" if the write may have taken place, else "not_applied".
func (e *Error) Outcome() string {
	if e.Applied() {
		return "unknown"
	}
	return "not_applied"
}

// Retry reports whether the same request may succeed if it is repeated. After Unknown, a write can be
// repeated safely only under the same message ids.
func (e *Error) Retry() bool { return int(e.Kind) < len(kinds) && kinds[e.Kind].retry }

// Errorf returns an *Error of kind k.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}

// AsError returns err as an *Error; an error of another type becomes Internal, nil stays nil.
func AsError(err error) *Error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return e
	}
	return &Error{Kind: Internal, Message: err.Error()}
}

// KindOf returns the Kind of err, Internal if err is not an *Error, None if it is nil.
func KindOf(err error) Kind {
	if e := AsError(err); e != nil {
		return e.Kind
	}
	return None
}

// Is reports whether err is, or wraps, an *Error of kind k.
func Is(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}
