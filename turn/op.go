package turn

// Op is an operation that may change state. The state machine alone decides its result when it applies
// the operation, identically on every node: either the whole operation takes place, or it returns an
// error and changes nothing.
//
// An operation whose Expect field is nil is unconditional. Otherwise, it takes place only if the
// session's revision equals *Expect (0: only if the session does not exist); if not, the error is
// Conflict and carries the current revision.
//
// An operation must not be changed after it was passed on: neither side writes to its slices again.
type Op interface {
	// Validate reports the first limit or rule that the operation breaks.
	Validate(Limits) error
}

// Side is an end of a session seen as a Redis list.
type Side uint8

const (
	Tail Side = iota // the right end: RPUSH, RPOP
	Head             // the left end: LPUSH, LPOP
	// Newest is not an end of the list but of the commit order: the message
	// with the highest seq. Pop takes it; Append does not.
	Newest
)

// Append adds messages at the end of a session, all or none, with contiguous
// seqs, creating the session if needed.
//
// An append is a duplicate if every message has an id, and these ids are among the session's last 1,024
// appended messages, contiguous, in the same order, and with the same payloads. Trimmed, popped and
// cleared messages count among the 1,024; so do, for ten minutes of cluster time, the messages of
// deleted or expired sessions of the same key (at most TombstoneMessages messages and DeletedSessions
// sessions). For a duplicate, nothing is appended, and the Result has the original seqs and revision,
// with Duplicate set. A known id with another payload is IDReused; if only some ids are known, the
// error is Conflict. This check comes before Expect.
//
// Result: First, Last, Revision, Duplicate, Count (messages held after it).
type Append struct {
	Key      Key
	Messages []NewMessage
	Expect   *uint64
	// TTL, if positive, sets the session's deadline to that many milliseconds
	// of cluster time from now, at most MaxTTL.
	TTL int64
	// Side is the end of the list onto which the messages are pushed, one by one. The commit order,
	// which Read returns, does not depend on it.
	Side Side
	// OnlyExisting makes the append a no-op (Count 0) on a session that holds
	// no messages.
	OnlyExisting bool
	// MustExist makes the append NotFound if there is no such session.
	MustExist bool
	// Set and Unset change the session's metadata as SetMetadata does, atomically with the append.
	Set   map[string]string
	Unset []string
}

// Pop removes and returns up to Count messages from one end.
// Result: Messages in the order of removal, Count (messages held after it), Revision.
// A session that does not exist yields no messages and no error.
type Pop struct {
	Key    Key
	From   Side
	Count  uint64 // at least 1
	Expect *uint64
	// List applies Redis's rule: a list that becomes empty loses its deadline.
	List bool
}

// TrimBy selects what Trim keeps.
type TrimBy uint8

const (
	KeepLast  TrimBy = iota // the N messages with the highest seqs
	BeforeSeq               // the messages from seq N on: those before it go
	ListRange               // the elements Start..Stop of the list, as LTRIM
)

// Trim removes messages. Result: Removed, Count (held after it), Revision. For a session that does not
// exist, it removes none, without an error.
type Trim struct {
	Key         Key
	By          TrimBy
	N           uint64
	Start, Stop int64 // inclusive, negative from the tail; for ListRange
	Expect      *uint64
}

// Replace removes every message with seq ≥ From and appends Messages, atomically. The session must exist, and From
// must be at least 1.
//
// A replace is a duplicate of an earlier one that brought just the same: messages with the same ids and payloads, in
// the same order, one of them at least with an id. It is remembered as long as the last of these ids, as in Append; of
// several, the first one counts that took place after Expect. A duplicate removes nothing. A replace whose Expect holds
// is none: had it taken place, the revision would be higher. Messages may have ids that are in use, with the payload
// that the first or the last message with that id came with, or that this one has now: another one is IDReused. The id
// of a message that stays in the session is a Conflict. Before Level5, ids are treated as in Append. Messages that came
// before it, one behind the other, are taken for those of a replace; it is a Conflict if that is not certain.
//
// Result: as Append, and Removed.
type Replace struct {
	Key      Key
	From     uint64
	Messages []NewMessage // may be empty
	Expect   *uint64
}

// Clear removes all messages of a session and keeps the session, its metadata and its numbering.
// Result: Removed, Revision. For a session that does not exist, it removes none, without an error.
type Clear struct {
	Key    Key
	Expect *uint64
}

// Delete removes sessions and values of other types. The seqs of a later session of the same key begin
// at 1 again. Result: Removed, the number of keys that existed (with List: as Redis sees it); Revision.
type Delete struct {
	Keys   []Key
	Expect *uint64 // only with a single key
	List   bool
}

// ExpireIf restricts Expire as Redis's EXPIRE options do.
type ExpireIf uint8

const (
	Always       ExpireIf = iota
	IfNone                // NX: only if there is no deadline
	IfSome                // XX: only if there is a deadline
	IfLater               // GT: only if the new deadline is later (none counts as latest)
	IfSooner              // LT: only if the new deadline is sooner (none counts as latest)
	IfSomeSooner          // XX LT: only if there is a deadline and the new one is sooner
)

// Expire sets or removes the deadline of a session or value. A deadline that has passed deletes the key
// at once. Result: Removed is 1 if the deadline was changed, as in Redis's integer reply, and 0 if it
// was not, or if the key does not exist.
type Expire struct {
	Key Key
	// TTL in milliseconds from now, at most MaxTTL, or At, an absolute cluster time in Unix
	// milliseconds. Neither: the deadline is removed (PERSIST). HasTTL and HasAt
	// say which, since zero and negative values are meaningful.
	TTL    int64
	At     int64
	HasTTL bool
	HasAt  bool
	Slide  bool // with TTL: every later append renews the deadline by TTL; sessions only
	If     ExpireIf
	Expect *uint64
	List   bool // as Redis: a session without messages does not exist
}

// Fork copies the messages with seq ≤ At, their seqs, times and ids, and the
// metadata, into the session To, which must not exist. At most
// Limits.ForkMessages and Limits.ForkBytes are copied; a longer one is TooLarge.
// Result: First, Last, Count, Revision of the new session.
type Fork struct {
	Key    Key
	To     Key    // same namespace
	At     uint64 // 0: all
	Expect *uint64
}

// Rename moves what Key holds, of any type, to the key To: messages with their seqs, times and ids, metadata,
// deadline and retention. It copies: a session that Fork could not copy, or another value of
// more than 79 MiB (each element counted with 96 bytes more, in a sorted set twice), is TooLarge.
//
// Key then holds nothing, as after Delete, and what To held before is deleted: ids of messages appended to
// either are remembered under that key as those of deleted sessions are, so a repeated append is a duplicate
// as before. Under To all ids are known that the session knew (before Level3, only those of the messages that were
// moved). A PushOnce to Key is a duplicate as long
// as To holds what it brought.
//
// Without Key there is nothing to rename: NotFound. If To exists and Replace is not set: Exists.
// Result: Removed is 1 if the key was renamed; Count, Revision of To.
type Rename struct {
	Key     Key
	To      Key // same namespace
	Replace bool
	Expect  *uint64 // revision of Key
	// List applies Redis's rules: a session without messages does not exist; a key may be renamed to
	// itself, which changes nothing; and if To exists, and Replace is not set, nothing happens (Removed 0).
	List bool
}

// SetMetadata merges Set into a session's metadata and removes the keys in Unset,
// creating the session if it does not exist. Result: Revision.
type SetMetadata struct {
	Key    Key
	Set    map[string]string
	Unset  []string
	Expect *uint64
}

// Erase deletes keys of every type in a namespace whose names begin with Prefix, in key order. Each
// Erase deletes a bounded number of keys, beginning at Cursor. Result: Removed; Cursor, nonempty if
// there may be more.
type Erase struct {
	Namespace string
	Prefix    string
	Cursor    string
	Limit     int // 1 to 1,000
}
