package staterepair

import (
	"context"
	"net"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// Cluster is the other members, and what is known of this one.
type Cluster interface {
	// Alone reports whether this node is the only member.
	Alone() bool
	// HandOver has another node lead, if this one does and that one is less damaged.
	HandOver(ctx context.Context)
	// Sources returns the other members that a state may be fetched from: those that can be
	// reached and know of no damage, followers first. damaged are the ids of those that know of some.
	Sources(ctx context.Context) (sources []Source, damaged []string)
	// Connect opens a connection to a member whose Repairer is given it to Send.
	Connect(ctx context.Context, to Source) (net.Conn, error)
}

// Source is a member that a state may be fetched from.
type Source struct{ ID, Addr string }

// Log is the log that the state is to continue with.
type Log interface {
	// Dropped returns the last entry that the log does not have any more.
	Dropped() uint64
	// Last returns the last entry that is durable.
	Last() uint64
	// Has reports whether the log has an entry, with its term, or a snapshot in its place.
	Has(p raftlog.Position) (bool, error)
}
