package redis

// maxClients is how many connections may be open at the moment.
func (s *Server) maxClients() int {
	if s.cfg.Descriptors == nil {
		return s.cfg.MaxClients
	}
	return min(s.cfg.MaxClients, s.cfg.Descriptors.Size())
}

// clients returns the open connections.
func (s *Server) clients() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	cs := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		cs = append(cs, c)
	}
	return cs
}
