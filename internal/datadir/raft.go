package datadir

import "github.com/hashicorp/raft"

// Raft is what the log asks of Raft, and tells it. Any goroutine may call its methods, also before Raft runs.
type Raft interface {
	Runs() bool
	// Latest returns the latest configuration, committed or not; an empty one before Raft runs.
	Latest() raft.Configuration
	// Committed returns the index up to which entries are known to be committed.
	Committed() uint64
	// Leads reports whether this node leads, as far as Raft's main loop has got.
	Leads() bool
	// Placed is told that a proposal of this node gets its place in the log. It must not block.
	Placed()
}

// noRaft implements Raft where it does not run.
type noRaft struct{}

func (noRaft) Runs() bool                        { return false }
func (noRaft) Latest() (none raft.Configuration) { return none }
func (noRaft) Committed() uint64                 { return 0 }
func (noRaft) Leads() bool                       { return false }
func (noRaft) Placed()                           {}
