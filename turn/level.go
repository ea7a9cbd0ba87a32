package turn

// ClusterLevel says what all members of a cluster understand. It is part of the
// replicated state: an entry of the log raises it, and from that entry on every
// state machine behaves by the new level. It never falls.
//
// The level comes after the binaries: while members of several versions run side
// by side, it stays at what the oldest of them knows.
type ClusterLevel uint64

const (
	// Level0 is that of a new cluster, until its leader has recorded each member. Entries have
	// the effect that they have at Level1, and every operation is taken.
	Level0 ClusterLevel = iota
	// Level1 is that of the first version. What a later level brings is listed with its
	// constant, one line for each change of what an entry does, or of what it may hold.
	Level1
	// Level2 has transactions that take place as a whole or not at all (Tx.All), and appends that change
	// metadata or demand an existing session. It removes ranges of sorted sets (RemoveScores), and gives
	// strings deadlines without values (SetString.KeepValue). Single messages are edited and removed. Reads
	// by a number keep tool calls and results together (Read.Whole), and reads select by time. Sessions are
	// listed by labels, from their first change at this level on.
	Level2
)

// NewestLevel is the highest level that this turnlog knows.
const NewestLevel = Level2
