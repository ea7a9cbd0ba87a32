package httpapi

// makeRoom closes the oldest stranger if there cannot be one more.
func (s *strangers) makeRoom() {
	if s != nil {
		s.close(s.most)
	}
}

// giveWay closes the oldest stranger, and reports whether there was one.
func (s *strangers) giveWay() bool { return s != nil && s.close(1) }

// close closes the oldest stranger if there are so many at least.
func (s *strangers) close(atLeast int) bool {
	s.mu.Lock()
	if s.list.Len() < atLeast {
		s.mu.Unlock()
		return false
	}
	c := s.list.Front().Value.(*boundedConn)
	s.remove(c)
	s.mu.Unlock()
	c.l.m.refused.Inc()
	c.cut()
	return true
}

// hold notes that the head of a stranger's request takes so many bytes more. The oldest
// strangers give way if that is too much.
func (s *strangers) hold(c *boundedConn, bytes int) {
	if s == nil || c.known.Load() {
		return
	}
	s.mu.Lock()
	if c.stranger != nil {
		c.held += int64(bytes)
		s.bytes += int64(bytes)
	}
	s.mu.Unlock()
	for s.crowded() && s.close(2) {
	}
}
