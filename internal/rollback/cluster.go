package rollback

import "github.com/turnlog/turnlog/internal/peer"

// Cluster is what a Detector asks of its node about the cluster.
type Cluster interface {
	// Members returns the servers of the latest configuration, committed or not, in a new slice.
	// There are none before Raft runs.
	Members() []string
	// Voters splits its voters into the others and this node.
	Voters() (others []string, self bool)
	// Known is Members, and the members that the state records.
	Known() []string
	// Replaced reports whether the cluster knows a node by another data directory than this.
	Replaced(node peer.Facts) bool
	// Leader returns the leader's id, empty if none is known, Term the current term.
	Leader() string
	Term() uint64
}

// Ballot is what holds back the node's votes: see package ballot.
type Ballot interface {
	// Ready returns why the node may not vote yet, nil if it may. Asked ends the time of asking.
	Ready() error
	Asked()
	// Past notes a term that another member was in. Forgotten returns a term up to which this
	// node may have made promises that it does not know of.
	Past(term uint64)
	Forgotten() uint64
}
