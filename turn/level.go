package turn

// ClusterLevel says what all members of a cluster support. It is part of the replicated state: an entry
// of the log raises it, and from that entry on, every state machine follows the new level. It never
// falls.
//
// The level is raised after the binaries were upgraded: while members of several versions run side by
// side, it stays at what the oldest of them supports.
type ClusterLevel uint64

const (
	// Level0 is the level of a new cluster, until its leader has recorded each member. Entries have the
	// same effect as at Level1, and every operation is accepted.
	Level0 ClusterLevel = iota
	// Level1 is the level of the first version. The constant of a later level lists each change of what
	// an entry does, or of what it may contain.
	Level1
	// Level2 has transactions that take place as a whole or not at all (Tx.All), and appends that change
	// metadata or demand an existing session. It removes ranges of sorted sets (RemoveScores), and gives
	// strings deadlines without values (SetString.KeepValue). Single messages are edited and removed. Reads
	// by a number keep tool calls and results together (Read.Whole), and reads select by time. Sessions are
	// listed by labels, from their first change at this level on. Records of members tell learners from voters.
	// Sessions keep a length by themselves (Retain). Keys are renamed (Rename).
	Level2
	// Level3 combines sets, in answers and in place of a key (CombineSets, StoreSets), and looks several keys up as of
	// one state (Lookup). It renames sessions with all ids that they know, also those of messages that were removed
	// before. Transactions that take place as a whole pop, edit, remove and replace messages, set how much sessions
	// keep, and rename keys. To look for a push among sessions that were renamed takes of what an entry may cost.
	Level3
	// Level4 knows a transaction that takes place as a whole by its id and its keys (Tx.ID), no longer by its id alone.
	// It renames sessions of the largest size that may be renamed also if they remember ids of removed messages.
	Level4
	// Level5 lets Replace store messages under ids that were in use, but for those of messages that stay. It takes a
	// Replace for a repeat only of a Replace. For that, messages remember what brought them.
	Level5
)

// NewestLevel is the highest level that this version of turnlog supports.
const NewestLevel = Level5
