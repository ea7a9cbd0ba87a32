package turn

import (
	"fmt"
	"strings"
	"time"
)

// HealthStatus is the health of a cluster.
type HealthStatus string

const (
	Healthy     HealthStatus = "healthy"     // every member can be reached and is well
	Degraded    HealthStatus = "degraded"    // requests are served, but something is wrong
	ReadOnlyNow HealthStatus = "read_only"   // reads are served; writes that need space are rejected
	NotServing  HealthStatus = "unavailable" // no leader is confirmed by a majority
)

// LongLag is the lag, in cluster time, from which on a node that is behind makes the cluster Degraded.
const LongLag = 10 * time.Second

// Health is the health of a cluster, and the reasons why it is not better.
type Health struct {
	Status  HealthStatus `json:"status"`
	Reasons []string     `json:"reasons"` // empty if it is healthy
}

// Health assesses the cluster by what the node that was asked sees of it. The cluster may be healthier
// than that: a node that is cut off sees no leader.
func (c *Cluster) Health() Health {
	h := Health{Status: Healthy, Reasons: []string{}}
	voters, missing := 0, []string{}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Voter {
			voters++
		}
		switch {
		case n.Reachable:
			for _, p := range n.Problems {
				h.Reasons = append(h.Reasons, n.ID+": "+p)
			}
			if lag := c.Lag(n); lag >= LongLag {
				h.Reasons = append(h.Reasons, fmt.Sprintf("%s is %s behind the leader", n.ID, lag))
			}
		case n.Voter:
			missing = append(missing, n.ID)
		default:
			h.Reasons = append(h.Reasons, n.ID+" cannot be reached")
		}
	}
	if len(missing) > 0 {
		h.Reasons = append([]string{lostVoters(voters, missing)}, h.Reasons...)
	}
	if c.ReadOnly != "" {
		h.worsen(ReadOnlyNow, "writes that need space are rejected: "+c.ReadOnly)
	}
	switch {
	case c.Leader == "":
		h.worsen(NotServing, "there is no leader")
	case !c.Serving:
		h.worsen(NotServing, fmt.Sprintf("no majority confirms that %s leads", c.Leader))
	}
	if h.Status == Healthy && len(h.Reasons) > 0 {
		h.Status = Degraded
	}
	return h
}

// Lag returns how much older, in cluster time, the state of a node is than the leader's; 0 if no leader
// can be reached. Cluster time advances only with log entries.
func (c *Cluster) Lag(n *Node) time.Duration {
	for i := range c.Nodes {
		// A node that has the leader's entries on its disk is about to apply them. After an idle hour, the first
		// of them makes it an hour older than the leader for as long as that takes.
		if l := &c.Nodes[i]; l.ID == c.Leader && l.Time != 0 && n.Time != 0 && n.Match < l.Applied {
			return max(0, time.Duration(l.Time-n.Time)*time.Millisecond)
		}
	}
	return 0
}

func (h *Health) worsen(to HealthStatus, reason string) {
	h.Status, h.Reasons = to, append([]string{reason}, h.Reasons...)
}

// lostVoters says which voters cannot be reached, and what that means for a majority.
func lostVoters(voters int, missing []string) string {
	text := fmt.Sprintf("%d of %d voters cannot be reached: %s", len(missing), voters, strings.Join(missing, ", "))
	switch left := (voters-1)/2 - len(missing); {
	case left < 0:
		return text + "; a majority is needed"
	case left == 0:
		return text + "; if one more fails, there is no majority"
	}
	return text
}
