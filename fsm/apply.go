package fsm

import (
	"fmt"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/sessions"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Outcome is the outcome of one command of an entry.
type Outcome struct {
	// Origin and Number are the command's tag. In the outcomes that a leader sends another node, one of origin 0, which
	// is Skipped, says that the command of that node's with this number was never proposed: its own outcome, the next
	// one, is of this attempt alone.
	Origin, Number uint64
	Result         turn.Result
	Err            *turn.Error // nil: the command took place
	// Skipped: the command had no effect, because an earlier entry carried the same command, or because
	// it is too old to know that.
	Skipped bool
}

// Apply applies the log entry at index. If the state already includes the entry, it returns nil. After
// an error that Fatal reports, and while the machine is halted, it applies nothing.
//
// Payloads of entry become part of the state, so the caller must not change its bytes afterwards. Apply
// waits while too many changes wait for their flush.
func (m *Machine) Apply(index, term uint64, entry []byte) []Outcome {
	b, err := decodeBatch(entry)
	if err == nil && b.listsKeys() {
		m.settleOrders()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waitForRoom()
	if m.usable() != nil || index <= m.keys.Meta.Index {
		return nil
	}
	defer m.keys.EndReading()
	var outcomes []Outcome
	if err == nil {
		err = store.Guarded(func() (err error) {
			outcomes, err = m.applyBatch(index, &b)
			return err
		})
	}
	if err != nil {
		m.fail(fmt.Errorf("apply log entry %d: %w", index, err))
		return nil
	}
	m.passed(index, term)
	if m.hash.wanted == index {
		m.takeHash()
	} else if m.keys.Tables.Active.Bytes >= m.full {
		m.kick.Notify()
	}
	return outcomes
}

// Note records that the entry at index, which holds no commands, has been skipped.
func (m *Machine) Note(index, term uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.usable() == nil && index > m.keys.Meta.Index {
		m.passed(index, term)
	}
}

func (m *Machine) passed(index, term uint64) {
	m.keys.Meta.Index, m.keys.Meta.Term = index, term
	m.stand()
	m.waiters.wake(index)
}

// waitForRoom bounds memory: while the frozen memtable is on its way to the store,
// the active one may not outgrow it.
func (m *Machine) waitForRoom() {
	for m.keys.Tables.Frozen != nil && m.keys.Tables.Active.Bytes >= m.cfg.FlushBytes && m.usable() == nil {
		m.room.Wait()
	}
}

// batch is an entry with its operations, decoded before the state is locked.
type batch struct {
	codec.Entry
	size int // of the entry, in bytes
	ops  []turn.Op
	errs []error // why an operation is nil
	// calls are found before the state is locked, too: that may take a while.
	calls sessions.Calls
}

func decodeBatch(entry []byte) (b batch, err error) {
	b.size = len(entry)
	if b.Entry, err = codec.DecodeEntry(entry); err != nil {
		return b, undecodable{err}
	}
	b.ops, b.errs = make([]turn.Op, len(b.Commands)), make([]error, len(b.Commands))
	for i := range b.Commands {
		b.ops[i], b.errs[i] = codec.DecodeOp(b.Commands[i].Op)
		values.OrderNames(b.ops[i])
		b.calls.Find(b.ops[i])
	}
	return b, nil
}

// listsKeys reports whether an operation walks through the keys.
func (b *batch) listsKeys() bool {
	return slices.ContainsFunc(b.ops, func(op turn.Op) bool {
		switch o := op.(type) {
		case *turn.Erase:
			return true
		case *turn.Tx:
			return slices.ContainsFunc(o.Steps, func(s turn.Step) bool {
				_, erases := s.Op.(*turn.Erase)
				_, lists := s.Query.(*turn.Sessions)
				return erases || lists
			})
		}
		return false
	})
}

func (m *Machine) applyBatch(index uint64, e *batch) ([]Outcome, error) {
	if err := m.sessions.BeginEntry(e.Stamp, e.calls); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(e.Commands))
	for i, c := range e.Commands {
		out := &outcomes[i]
		out.Origin, out.Number = c.Origin, c.Number
		if c.Origin != 0 && !m.tags.Take(c.Origin, c.Number, index) {
			out.Skipped = true
			continue
		}
		if err := e.errs[i]; err != nil {
			return nil, undecodable{err}
		}
		m.keys.Allowance.BeginCommand()
		err := m.applyOp(index, e.ops[i], &out.Result)
		if m.keys.Fault() != nil {
			return nil, m.keys.Fault()
		}
		if err != nil {
			refused, ok := layout.Refusal(err)
			if !ok {
				return nil, err
			}
			out.Result, out.Err = turn.Result{}, refused
		}
		out.Result.Index, out.Result.Time = index, m.keys.Meta.Clock
	}
	m.sessions.EndEntry(e.size)
	return outcomes, nil
}
