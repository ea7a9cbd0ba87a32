package turn

// Cluster describes the cluster as one node sees it.
type Cluster struct {
	ID     string // made once, when the first leader was elected
	Leader string // node id; empty while there is none
	Term   uint64
	Nodes  []Node // ordered by ID
}

// Node is a member of the cluster.
type Node struct {
	ID       string
	RaftAddr string
	RESPAddr string // empty until the node has announced it
	HTTPAddr string
	Role     string // "leader", "follower", "candidate", "learner", "unreachable"
	Applied  uint64 // log index up to which its state machine has applied
	// Match is the highest log index known to be on the node's disk, as far as
	// the node itself reports.
	Match     uint64
	Reachable bool
	StateHash string // hash of the state at HashIndex, if one was taken
	HashIndex uint64
}
