package readindex

import (
	"context"

	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// Cluster is what a node knows of its cluster.
type Cluster interface {
	// Leader returns the leader's id, empty if none is known, and a channel that is closed when
	// that, or what Serving returns, may have changed.
	Leader() (id string, changed <-chan struct{})
	// Serving returns the term in which this node leads and has applied an entry, else 0, and the
	// channel of Leader.
	Serving() (term uint64, changed <-chan struct{})
	// Raft returns whether this node leads, and the term that it is in. If it leads, the commit
	// index is one of that term.
	Raft() (leads bool, term, commit uint64)
	// Voters returns the voters of the latest configuration: the others, and whether this node is one.
	Voters() (others []string, self bool)
	// Others returns the other members of the latest configuration.
	Others() []string
	// Member reports whether this node is a member by the latest configuration, if it is known yet, and whether its
	// state records it as one.
	Member() (configured, recorded bool)
	// Alone reports whether this node is the only member.
	Alone() bool
}

// State is a node's state machine.
type State interface {
	Query(q turn.Query) (turn.Result, error)
	// Applied returns the last entry that was applied.
	Applied() (index, term uint64)
	WaitApplied(ctx context.Context, index uint64) error
	// Damage returns what damage there is, and whether it has halted the machine.
	Damage() (found error, halted bool)
}

// Peers are the other nodes.
type Peers interface {
	// Confirm asks a voter a leader's question, and calls answered, once and from any goroutine,
	// with what the function Confirm returned there. It does not block.
	Confirm(id string, question []byte, answered func(answer []byte, err error))
	// ReadIndex returns a read index of the leader's: see Reader.LeaderIndex.
	ReadIndex(ctx context.Context, leader string) (uint64, error)
	// Query has the leader answer a query, as a part of a span, if that is one: see Reader.Answer. again: that node
	// cannot, another may.
	Query(ctx context.Context, leader string, of trace.Context, encoded []byte) (r turn.Result, again bool, err error)
	// QueryMember has a member answer a query of the leader's: see Reader.AnswerMember. answered is
	// false if it cannot tell, as one of an older version.
	QueryMember(ctx context.Context, id string, encoded []byte) (r turn.Result, answered bool, err error)
}
