package fsm

// OpenFiles returns how many block files are open. Their number grows with the data.
func (m *Machine) OpenFiles() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.files.OpenFiles()
}
