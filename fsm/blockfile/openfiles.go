package blockfile

// OpenFiles returns how many files are open: those that the index refers to, and
// those that are still read although it does no more.
func (s *Set) OpenFiles() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.files)
}
