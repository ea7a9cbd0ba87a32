package turn

// ClusterLevel says what all members of a cluster understand. It is part of the
// replicated state: an entry of the log raises it, and from that entry on every
// state machine behaves by the new level. It never falls.
//
// The level comes after the binaries: while members of several versions run side
// by side, it stays at what the oldest of them knows.
type ClusterLevel uint64

const (
	// Level0 is all that turnlog did before it had levels.
	Level0 ClusterLevel = iota
	// Level1 is the level of this development version. It brings, beyond Level0
	// (one line for each change of what an entry does, or of what it may hold):
	//
	//   - the level itself, in the state description
	//   - a deadline that would overflow is the latest there is, no longer in the past
	//   - each namespace has its own counter of revisions, and messages with ids keep the
	//     one after their append: a retry is told that, not the session's present one.
	//     Namespaces without keys share 1,024 floors, above which they go on
	//   - SetElement replaces a payload under its seq; what an edit of a list moves does
	//     not count among the messages whose ids are remembered
	//   - of the deleted sessions of a key, the ids of TombstoneMessages messages are
	//     remembered at most, and of DeletedSessions sessions. The tombstones of a key are
	//     stored together, apart from those of longer keys
	//   - what an entry copies of what is stored, returns from it or passes in search of it is
	//     bounded, queries of transactions included: the rest is TooLarge or Overloaded.
	//     Trims are not. Messages of either side of a list that are passed count. What such queries answer with is bounded by DefaultLimits
	//   - a trim of many entries of a stream raises a floor in its head
	//   - the head of a list knows, by side, between which seqs messages are alive
	//   - Clear of a session that does not exist removes nothing, no longer NotFound
	Level1
)

// NewestLevel is the highest level that this turnlog knows.
const NewestLevel = Level1
