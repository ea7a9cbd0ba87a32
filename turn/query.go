package turn

// Query is an operation that changes nothing.
type Query interface {
	Validate(Limits) error
}

// ReadFrom selects the messages that Read returns.
type ReadFrom uint8

const (
	FromLast   ReadFrom = iota // the Limit newest messages
	FromAfter                  // up to Limit messages with seq > Seq, the oldest ones first in line
	FromBefore                 // up to Limit messages with seq < Seq, the newest ones first in line
)

// Read returns messages in commit order, lowest seq first.
//
// MaxBytes and MaxTokens, if positive, cut the answer at a whole message, never between a tool call and
// its result; at least one message (or one call with its results) is returned, however small the
// budget. With FromAfter, the end of the answer is cut off, otherwise its beginning. A token is counted
// as four bytes of payload.
//
// Result: Messages, Session (always set if the session exists), More if the
// budget or Limit cut something off. A session that does not exist yields no
// messages and a nil Session.
type Read struct {
	Key       Key
	From      ReadFrom
	Seq       uint64
	Limit     int // 0: no limit but Limits.ReadBytes, ReadMessages and AnswerBytes, which cut any read
	MaxBytes  int64
	MaxTokens int64
	// Whole also keeps Limit from cutting between a tool call and its result; see Budget.
	Whole bool
	// Since and Until, if not 0, select the messages with Since ≤ Message.Time < Until. Times never
	// decrease from one message of a session to the next, so the selected messages are contiguous.
	// Elements of a list that LINSERT has moved keep their times, but not their positions: near them,
	// the range may begin or end at the wrong message.
	Since, Until int64
}

// List returns the elements Start..Stop of the session as a Redis list,
// inclusive, negative indices counting from the tail. Result: Messages in list
// order, Session. More than Limits.ReadBytes, ReadMessages or AnswerBytes is TooLarge: a list is never cut.
type List struct {
	Key         Key
	Start, Stop int64
}

// Info returns the description of a session, or of a value of another type.
// Result: Session, nil if there is none.
type Info struct {
	Key Key
}

// Sessions lists sessions, or keys of other types, in key order. Result: Sessions, and Cursor, nonempty
// if there may be more: a page can be short, or empty, if few keys have the requested type.
//
// With Labels, it lists the sessions that carry all of these labels, the one that changed last first. A
// page shows one moment, that of Result.Index. A session that changes while a caller reads one page
// after another moves to the front: it is missing from the later pages, and comes first in a new list.
type Sessions struct {
	Namespace string
	Prefix    string
	Cursor    string // from the last Result; empty: from the start
	Limit     int    // 1 to 10,000
	// List lists what Redis sees: values of every type, and no session without
	// messages. Otherwise sessions are listed, with messages or without, and
	// nothing else.
	List bool
	// Type, if it is not TypeNone, restricts the list to keys of one type.
	Type Type
	// Labels are at most MaxLabels, with different names; with Labels, a page has at most LabelPage
	// sessions. Prefixes, if there are any, also restrict the list to keys that begin with one of them.
	Labels   []Label
	Prefixes []string
}

// LabelPage bounds the sessions that are examined for a page of a list by labels.
const LabelPage = 1000

// Count returns the number of keys of a namespace that Redis sees, sessions with
// messages and values of other types, in Result.Count.
type Count struct {
	Namespace string
}

// Result is the answer to any Op or Query; each documents the fields it sets.
type Result struct {
	First, Last uint64 // seqs
	// Revision is the session's revision after the operation. Each namespace has a counter, which every
	// applied change in the namespace raises by one; a session's revision is the counter as of its last
	// change. For a duplicate, it is the revision after the original append; for a deletion, even of
	// nothing, it is the counter's value. The counter of a namespace without keys may rise by more than
	// one.
	Revision  uint64
	Count     uint64
	Removed   uint64
	Duplicate bool
	More      bool
	Messages  []Message
	Session   *Session
	Sessions  []Session
	Cursor    string
	Found     bool
	Number    int64
	Score     float64
	Value     []byte
	Elements  []Element
	ID        EntryID
	Entries   []Entry
	Aborted   bool
	Steps     []Outcome
	Index     uint64 // log index of the state that answered
	Time      int64  // cluster time of that state, Unix milliseconds
}
