package fsm

// Unflushed returns how many bytes of changes, as estimated in memory, are yet to
// be flushed: disk space that the state is going to take.
func (m *Machine) Unflushed() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return uint64(m.keys.Tables.Unflushed())
}

// ShortOfSpace says whether the disk is short of space, and how many bytes are left.
// As long as it is short, each call has what was applied flushed; flushes take the
// payloads of deleted sessions off the disk at once; and block files are emptied of which
// less is garbage than usual. Else those payloads stay, with the ids that are remembered,
// for turn.TombstoneTime, which spares reading them.
func (m *Machine) ShortOfSpace(short bool, left uint64) {
	m.store.SetSpace(short, left)
	if short {
		m.kick.Notify()
	}
}
