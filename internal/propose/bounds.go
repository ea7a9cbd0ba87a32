package propose

import "time"

// Bounds bounds what callers can have in flight, and what waits for what. All fields are set.
type Bounds struct {
	LeaderWait  time.Duration // how long a call waits for a leader to send it to
	OutcomeWait time.Duration // how long a call that was sent waits for its outcome
	MaxBytes    int           // of operations in the table of calls; and of batches that wait on the leader
	MaxCalls    int           // in the table
	// An entry, or a batch to the leader, has at most so many commands and bytes, but for a
	// single command that is larger.
	EntryCommands, EntryBytes int
	Depth                     int // entries in flight at most
	Overlap                   int // commands that a second entry waits for
	ForwardDepth              int // batches that may be on their way to the leader
}
