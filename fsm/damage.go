package fsm

import (
	"errors"
	"fmt"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// Damage is what a checksum, or bbolt, says when the bytes on disk are not those that
// were written. How far the rest can be used depends on where it is:
//
//   - A block of messages that a query or the scrub found damaged fails the queries that
//     ask for it. All else goes on; nothing of it is copied, to other files or nodes.
//   - Damage to state.db, or a block that an entry, a flush or the collection of garbage
//     needs, halts the machine: an index that is damaged can hide what exists, and an
//     entry that cannot be applied whole may not be applied in part. What is in memory
//     then may hold half an entry.
//   - A query that comes to less than a head counts fails, and has the next scrub begin
//     sooner. If that finds what hides the rest, it halts the machine, which is repaired. If
//     not, the state is what was written, and that of other nodes may be the same: no other
//     state would help. Then such queries go on to fail, and all else goes on.
//
// A halted machine answers no query, applies nothing and flushes nothing, but stays
// open: Restore gives it the state of another node, and Resume lets it go on. The
// owner of the machine does so when Config.OnDamage is called. Without OnDamage, damage
// that would halt the machine ends it.

// IsDamage reports whether an error, of Open or of a Machine, says that stored data is
// not what was written.
func IsDamage(err error) bool {
	for _, damage := range []error{bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch} {
		if errors.Is(err, damage) {
			return true
		}
	}
	var entry undecodable
	return turn.Is(err, turn.Corrupt) && !errors.As(err, &entry)
}

// undecodable is the error for an entry that means nothing to this version. The state is
// not to blame.
type undecodable struct{ error }

func (e undecodable) Unwrap() error { return e.error }

// Damage returns the damage that is known, nil if none is, and whether the machine is
// halted, for that or because Halt was called.
func (m *Machine) Damage() (err error, halted bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.damage, m.halted
}

// Halt halts the machine, so that its state can be replaced. It returns the index of the last entry
// that the state includes. If err is not nil, it is damage because of which the state cannot be used
// again; if it is nil, Resume ends the halt.
func (m *Machine) Halt(err error) (applied uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.broken = true
		m.note(err)
	}
	m.halt()
	return m.keys.Meta.Index
}

// HaltedByDamage reports whether damage has halted the machine, so that it continues only after a
// Restore.
func (m *Machine) HaltedByDamage() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.broken
}

// Resume lets a halted machine continue, unless part of an entry may have been applied in memory, or
// state.db is damaged: then only Restore helps. It is called by the goroutine that calls Apply, or
// while that is kept from doing so.
func (m *Machine) Resume() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		return false
	}
	m.halted = false
	return true
}

// damaged is told what a query or the scrub came upon, whatever it is.
func (m *Machine) damaged(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var block layout.BlockDamage
	var count layout.CountDamage
	switch kind := turn.KindOf(err); {
	case errors.As(err, &count):
		select {
		case m.doubts <- struct{}{}:
			m.cfg.Logger.Error("stored data is missing, or counted wrong; scrubbing the state", "dir", m.cfg.Dir,
				"error", err)
		default: // it was told already
		}
	case errors.As(err, &block) && kind == turn.Corrupt:
		m.note(err)
	case kind == turn.Corrupt || kind == turn.Newer:
		m.fail(err)
	}
}

// fail makes every later Apply refuse: damage that can be repaired halts the machine, all
// else ends it. The caller holds mu.
func (m *Machine) fail(err error) {
	if m.failed != nil {
		return
	}
	if m.cfg.OnDamage != nil && IsDamage(err) {
		m.broken = true
		m.halt()
		m.note(err)
		return
	}
	m.failed = err
	close(m.fatal)
	m.room.Broadcast()
	m.waiters.wakeAll()
}

// note keeps what the damage is, and tells of it once. The caller holds mu.
func (m *Machine) note(err error) {
	if m.damage != nil {
		return
	}
	m.damage = err
	m.cfg.Logger.Error("stored data is damaged", "dir", m.cfg.Dir, "error", err)
	if m.cfg.OnDamage != nil {
		m.cfg.OnDamage(err)
	}
}

// halt stops all use of the state. The caller holds mu.
func (m *Machine) halt() {
	m.halted = true
	m.room.Broadcast()
	m.waiters.wakeAll()
}

// usable returns why the state cannot be used, nil if it can. The caller holds mu.
func (m *Machine) usable() error {
	switch {
	case m.failed != nil:
		return m.failed
	case m.halted:
		return m.haltedError()
	}
	return nil
}

// ErrHalted is wrapped by the errors of a halted machine. Another node may be able to answer.
var ErrHalted = errors.New("this node's state is damaged, and not repaired yet")

func (m *Machine) haltedError() error {
	return fmt.Errorf("%w (%w)", turn.Errorf(turn.Unavailable, "%v: %v", ErrHalted, m.damage), ErrHalted)
}
