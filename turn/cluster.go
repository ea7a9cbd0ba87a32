package turn

import "fmt"

// Cluster describes the cluster as one node sees it. Its JSON has the field names of the HTTP API.
type Cluster struct {
	ID     string `json:"id"`     // made once, when the first leader was elected
	Leader string `json:"leader"` // node id; empty while there is none
	Term   uint64 `json:"term"`
	Nodes  []Node `json:"nodes"` // ordered by ID
	// Level is the cluster's level, as far as the node that was asked has applied it.
	Level ClusterLevel `json:"level"`
	// Serving reports whether a majority has confirmed the leader to the node that was asked, so that
	// this node answers linearizable reads, and writes are committed.
	Serving bool `json:"serving"`
	// ReadOnly is why writes that need space are rejected; empty: they are not.
	ReadOnly string `json:"read_only"`
}

// LevelWaitsFor returns, for each member that keeps the cluster's level below what other members
// support, the reason; nil if the level is the highest that any member supports.
func (c *Cluster) LevelWaitsFor() (reasons []string) {
	highest := ClusterLevel(0)
	for i := range c.Nodes {
		highest = max(highest, c.Nodes[i].Level)
	}
	if c.Level >= highest {
		return nil
	}
	for i := range c.Nodes {
		switch n := &c.Nodes[i]; {
		case !n.Reachable:
			reasons = append(reasons, fmt.Sprintf("%s cannot be reached", n.ID))
		case n.HoldLevel != nil && *n.HoldLevel < highest:
			reasons = append(reasons, fmt.Sprintf("%s holds it at level %d (hold-level)", n.ID, *n.HoldLevel))
		case n.Level < highest:
			reasons = append(reasons, fmt.Sprintf("%s runs a version that knows levels up to %d", n.ID, n.Level))
		}
	}
	return reasons
}

// Node is a member of the cluster.
type Node struct {
	ID       string `json:"id"`
	RaftAddr string `json:"raft_addr"`
	RESPAddr string `json:"resp_addr"` // empty until the node has announced it
	HTTPAddr string `json:"http_addr"`
	// Role is "leader", "follower", "candidate", "learner", "unreachable", or "recovering": a
	// voter that lost the end of its log.
	Role    string `json:"role"`
	Applied uint64 `json:"applied"` // log index up to which its state machine has applied
	// Match is the highest log index known to be on the node's disk, as far as
	// the node itself reports.
	Match     uint64 `json:"match"`
	Reachable bool   `json:"reachable"`
	// Voter reports whether the node counts towards a majority, reachable or not.
	Voter bool `json:"voter"`
	// The next four are zero if the node cannot be reached, or if its version does not report them.
	Version   string   `json:"version"`    // of its program
	Time      int64    `json:"time"`       // cluster time of the last entry applied, Unix milliseconds
	DiskFree  uint64   `json:"disk_free"`  // bytes, of the disk that has its data
	Problems  []string `json:"problems"`   // what keeps it from being well
	StateHash string   `json:"state_hash"` // hash of the state at HashIndex, if one was taken
	HashIndex uint64   `json:"hash_index"`
	// Level is the highest cluster level that the node's version supports; it is also 0 if the node
	// cannot be reached. HoldLevel is the level at which the node holds the cluster; nil: none.
	Level     ClusterLevel  `json:"level"`
	HoldLevel *ClusterLevel `json:"hold_level"`
	// Zone is where the node is, as its operator calls it, and LeaderPreference how much it is preferred as the leader.
	// They are empty if the node cannot be reached.
	Zone             string `json:"zone"`
	LeaderPreference int    `json:"leader_preference"`
}
