package fsm

// Unflushed returns how many bytes of changes, as estimated in memory, are yet to
// be flushed: disk space that the state is going to take.
func (m *Machine) Unflushed() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := m.active.bytes
	if m.frozen != nil {
		n += m.frozen.bytes
	}
	return uint64(n)
}

// ShortOfSpace says whether the disk is short of space. As long as it is, flushes
// take the payloads of deleted sessions off the disk at once. Else those stay, with
// the ids that are remembered, for turn.TombstoneTime, which spares reading them.
func (m *Machine) ShortOfSpace(short bool) { m.short.Store(short) }
