package turn

// Retention is the length that a session keeps by itself: its last Messages messages, or the messages of
// its last Turns turns. The zero value is none: the session keeps what it has.
//
// Every operation that adds messages drops the oldest ones beyond it at once, in commit order and as Trim
// does: ids of dropped messages are remembered like others, and a seq is not given out again. A turn is the
// messages of one append, or of one Replace. One whose messages were popped or replaced counts no more; one
// whose messages were removed otherwise still does.
//
// A tool call is not parted from its result, nor dropped while its result may still come: up to ToolReach
// older messages are kept for that. Calls are recognised when their messages are appended, or edited.
type Retention struct {
	Messages uint64 // 0, or 1 to MaxRetention
	Turns    uint64 // 0, or 1 to MaxRetentionTurns; not with Messages
}

// MaxRetention bounds Retention.Messages.
const MaxRetention = 1_000_000_000

// MaxRetentionTurns bounds Retention.Turns: a session remembers where so many turns begin.
const MaxRetentionTurns = 1000

// Retain sets how much a session keeps by itself, and drops what is beyond it at once, or lifts the limit. Of
// messages that the session had before, of the last 65,536 of them, those with ids that one append brought are
// a turn, and each without an id is one. A session that does not exist is created, unless the
// limit is lifted. One that has this limit already does not change.
// Result: Removed, Count (held after it), Revision.
type Retain struct {
	Key    Key
	Keep   Retention // zero with All only
	All    bool      // lifts the limit; not with Keep
	Expect *uint64
}

// Validate implements Op.
func (o *Retain) Validate(l Limits) error {
	switch k := o.Keep; {
	case o.All && k != Retention{}:
		return Errorf(Invalid, "all cannot be combined with messages or turns")
	case !o.All && k == Retention{}:
		return Errorf(Invalid, "messages or turns must be at least 1; to lift the limit, give all")
	case k.Messages > 0 && k.Turns > 0:
		return Errorf(Invalid, "a session keeps a number of messages or a number of turns, not both")
	case k.Messages > MaxRetention:
		return Errorf(Invalid, "messages must be at most %d, is %d", MaxRetention, k.Messages)
	case k.Turns > MaxRetentionTurns:
		return Errorf(Invalid, "turns must be at most %d, is %d", MaxRetentionTurns, k.Turns)
	}
	return l.checkKey(o.Key)
}
