package membership

// Configuration is the servers of a Raft configuration.
type Configuration []Server

// Server is one of them. A server without a vote is a learner.
type Server struct {
	ID, Addr string
	Voter    bool
}

// Find returns a server by its id.
func (c Configuration) Find(id string) (Server, bool) {
	for _, s := range c {
		if s.ID == id {
			return s, true
		}
	}
	return Server{}, false
}

// Voters splits the voters into the others and self.
func (c Configuration) Voters(self string) (others []string, isVoter bool) {
	for _, s := range c {
		switch {
		case !s.Voter:
		case s.ID == self:
			isVoter = true
		default:
			others = append(others, s.ID)
		}
	}
	return others, isVoter
}

// Others returns the servers other than self, voters or not.
func (c Configuration) Others(self string) (ids []string) {
	for _, s := range c {
		if s.ID != self {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// IDs returns the ids of all servers.
func (c Configuration) IDs() (ids []string) {
	for _, s := range c {
		ids = append(ids, s.ID)
	}
	return ids
}
