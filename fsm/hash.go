package fsm

import (
	"cmp"
	"fmt"

	"github.com/turnlog/turnlog/fsm/internal/statehash"
	"github.com/turnlog/turnlog/fsm/internal/store"
)

// stateHash is a hash over the whole state, as of the last Checksum operation.
type stateHash struct {
	wanted uint64 // index of the last entry that asked for one; 0: there will be none for it
	index  uint64
	sum    string
}

// StateHash returns the hash over the whole state that the last Checksum
// operation asked for, and the index of that operation's entry; an empty hash
// if none was taken since the start. Nodes with equal indices have equal hashes.
func (m *Machine) StateHash() (index uint64, sum string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.hash.index, m.hash.sum
}

// HashAwaited reports whether the hash that the applied entry at index, or a later one, asked for is
// still being computed. It is not if the state was replaced by another node's in the meantime.
func (m *Machine) HashAwaited(index uint64) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.hash.wanted >= index
}

// takeHash has the state as of now hashed, by freezing it: what is in the store
// after that flush is exactly the state as of this entry. The caller holds mu, and gives
// it away while it waits for the flush before, which it hurries: if the state was halted
// or replaced since, no hash is taken. The transaction that reads the store ends before.
func (m *Machine) takeHash() {
	m.keys.EndReading()
	m.hurries.Add(1)
	defer m.hurries.Add(-1)
	for m.keys.Tables.Frozen != nil && m.usable() == nil {
		m.kick.Notify()
		m.room.Wait()
	}
	if m.usable() != nil || m.keys.Meta.Index != m.hash.wanted {
		m.hash.wanted = 0
		return
	}
	m.freeze()
	m.keys.Tables.Frozen.Hash = true
	m.kick.Notify()
}

func (m *Machine) hashStore(index uint64) error {
	var sum string
	m.mu.RLock()
	tx, err := m.store.Read()
	m.mu.RUnlock()
	if err == nil {
		tx.BypassCache() // all is read once
		err = store.Guarded(func() (err error) {
			sum, err = statehash.Of(tx)
			return err
		})
		tx.End()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("hash the state: %w", err)
		m.fail(err)
		return cmp.Or(m.usable(), err)
	}
	m.hash.index, m.hash.sum = index, sum
	return nil
}
