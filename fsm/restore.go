package fsm

import (
	"errors"
	"fmt"
	"io"
)

// Replaced returns a channel that is closed when Restore has replaced the state that is there now. The end of Restore
// waits for all readers of that state, dumps included: a reader that has one open for long is to close it then.
func (m *Machine) Replaced() <-chan struct{} {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.replaced
}

// Restore replaces the state by a dump, which must not end before what is applied. It
// takes effect at once or, after an error or a crash, not at all. It is called by the
// goroutine that calls Apply, or by any while the machine is halted, and halted it stays.
func (m *Machine) Restore(r io.Reader) error {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	built, err := m.store.Build(r)
	if err != nil {
		return fmt.Errorf("restore the state: %w", err)
	}
	old, err := m.swapStore(built.Index)
	if err != nil {
		err = errors.Join(err, m.store.Discard())
		if old != nil {
			err = errors.Join(err, old.Close())
		}
		return fmt.Errorf("restore the state: %w", err)
	}
	m.store.RemoveFiles(built.Unused)
	m.keys.NotifyAll()
	return old.Close() // waits for reads of the old state that are in flight
}

// swapStore puts the state that was built, as of index, in the place of the store's, and
// returns the one that was, to be closed; also with an error, if it is not the store's any more.
func (m *Machine) swapStore(index uint64) (old io.Closer, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return nil, m.failed
	}
	if index < m.keys.Meta.Index {
		return nil, fmt.Errorf("the dump ends at log entry %d, entry %d is applied", index, m.keys.Meta.Index)
	}
	if err := m.store.Replace(); err != nil {
		return nil, err
	}
	close(m.replaced)
	m.replaced = make(chan struct{})
	// From here on the old state is gone: what goes wrong is fatal.
	m.hash.wanted = 0
	old, err = m.store.Reopen()
	if err == nil {
		err = m.load()
	}
	if err != nil {
		m.fail(err)
		return old, err
	}
	m.room.Broadcast()
	m.waiters.wake(m.keys.Meta.Index)
	return old, nil
}
