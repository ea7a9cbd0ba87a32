package cluster

// Quorum reports whether there can be a leader: a node that runs and reaches, in both
// directions, so many others that run that together they are a majority.
func (c *Cluster) Quorum() bool {
	for _, leader := range c.Nodes {
		votes := 0
		for _, n := range c.Nodes {
			if leader.Healthy() && n.Healthy() && (n == leader || c.Network.joined(leader.ID, n.ID)) {
				votes++
			}
		}
		if votes > len(c.Nodes)/2 {
			return true
		}
	}
	return false
}
