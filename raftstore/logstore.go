package raftstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/wal"
)

// An engine keeps the log's entries. Its indexes are contiguous.
type engine interface {
	FirstIndex() uint64 // 0 if empty
	LastIndex() uint64
	// Append makes entries durable that continue the log; after Reset it takes
	// any first index. ErrNoSpace of package wal: nothing was written.
	Append(logs []*raft.Log) error
	// Get returns raft.ErrLogNotFound for an index that is not there.
	Get(index uint64, log *raft.Log) error
	TruncateBefore(index uint64) error
	TruncateAfter(index uint64) error
	Reset(next uint64) error
	// IndexForTail returns the lowest index from which the entries to the end
	// have at most so many bytes.
	IndexForTail(bytes int64) uint64
	// Room returns how many bytes Append surely finds allocated.
	Room() int64
	Run(context.Context) error
	Close() error
}

// logStore is Raft's log over an engine.
//
// Any error but a full disk ends the goroutine that met it by way of halt: Raft
// would go on, as a follower that may vote, with a log that is not what it
// believes. A full disk does the same if it hits between the removal of
// conflicting entries and the storing of those that replace them, since Raft
// then no longer knows where its log ends. An error of a compaction makes the node
// stop as well, but is returned: the log is what Raft believes, and whoever waits for
// the snapshot would wait for ever.
//
// What a leader stores can be ahead of the engine for a moment, see ahead.
type logStore struct {
	engine
	fail  func(error) // the node is to stop
	halt  func(error) // the same; does not return
	known func() known
	mark  *highWater
	taken func() // a proposal of this node gets its place in the log; must not block
	leads func() bool
	ahead ahead

	changes atomic.Uint64 // the term for changes of the configuration, see proposal.go

	mu    sync.Mutex
	floor position // of the newest snapshot, see covered
	cut   bool     // a suffix was removed and nothing stored since

	syncs     atomic.Uint64
	syncNanos atomic.Int64
	since     atomic.Pointer[time.Time] // when the append under way began; nil: none is
}

func newLogStore(e engine, fail, halt func(error)) *logStore {
	s := &logStore{engine: e, fail: fail, halt: halt, known: func() known { return known{} }, taken: func() {},
		leads: func() bool { return false }}
	s.ahead.store, s.ahead.halt = s.timed, halt
	s.ahead.changed.L = &s.ahead.mu
	return s
}

type position struct{ index, term uint64 }

// maxAppend bounds one append to the engine.
const maxAppend = 16 << 20

// FirstIndex implements raft.LogStore.
func (s *logStore) FirstIndex() (uint64, error) { return s.engine.FirstIndex(), nil }

// LastIndex implements raft.LogStore.
func (s *logStore) LastIndex() (uint64, error) {
	if last := s.ahead.last(); last > 0 {
		return last, nil
	}
	return s.engine.LastIndex(), nil
}

// GetLog implements raft.LogStore.
//
// The entry right at the newest snapshot is always there, if need be without
// its content: a follower that got a snapshot compares its term with what the
// leader says precedes the first entry after it. It is never replicated from
// here, since that takes the entry before it, which is not there.
func (s *logStore) GetLog(index uint64, log *raft.Log) error {
	if s.ahead.get(index, log) {
		return nil
	}
	err := s.engine.Get(index, log)
	if err == nil {
		return nil
	}
	if !errors.Is(err, raft.ErrLogNotFound) {
		if corrupt := (*wal.CorruptError)(nil); errors.As(err, &corrupt) {
			err = fmt.Errorf("start the node again: it replaces its log if it can, and says so if not: %w", err)
		}
		s.halt(fmt.Errorf("raftstore: read log entry %d: %w", index, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if index > 1 && index == s.floor.index {
		*log = raft.Log{Index: index, Term: s.floor.term, Type: raft.LogNoop}
		return nil
	}
	return raft.ErrLogNotFound
}

// StoreLog implements raft.LogStore.
func (s *logStore) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore. A gap before the first entry means that a
// snapshot took the place of everything before it. The entries are durable on
// return, unless they run ahead.
func (s *logStore) StoreLogs(logs []*raft.Log) error {
	if err := s.takeProposals(logs); err != nil {
		return s.rejected(logs, err)
	}
	if last, _ := s.LastIndex(); last > 0 && logs[0].Index == last+1 && s.ahead.take(logs, s.engine.Room()) {
		return nil
	}
	s.ahead.settle()
	err := s.timed(logs)
	if err == nil {
		s.setCut(false)
		s.noteConfiguration(logs)
		return nil
	}
	if errors.Is(err, wal.ErrNoSpace) && !s.isCut() {
		return s.rejected(logs, err)
	}
	s.halt(fmt.Errorf("raftstore: append to the log: %w", err))
	return err
}

func (s *logStore) noteConfiguration(logs []*raft.Log) {
	for _, l := range logs {
		if l.Type == raft.LogConfiguration {
			s.ahead.configured(votersIn(raft.DecodeConfiguration(l.Data)))
		}
	}
}

// timed makes entries durable and notes how long that takes.
func (s *logStore) timed(logs []*raft.Log) error {
	began := time.Now()
	s.since.Store(&began)
	defer func() {
		s.since.Store(nil)
		s.syncs.Add(1)
		s.syncNanos.Add(int64(time.Since(began)))
	}()
	return s.store(logs)
}

func (s *logStore) store(logs []*raft.Log) error {
	if last := s.engine.LastIndex(); last == 0 || logs[0].Index > last+1 {
		if err := s.engine.Reset(logs[0].Index); err != nil {
			return err
		}
	}
	for len(logs) > 0 {
		n, bytes := 1, len(logs[0].Data)
		for n < len(logs) && bytes+len(logs[n].Data) <= maxAppend {
			bytes += len(logs[n].Data)
			n++
		}
		if err := s.engine.Append(logs[:n]); err != nil {
			return err
		}
		s.mark.reached(position{logs[n-1].Index, logs[n-1].Term})
		logs = logs[n:]
	}
	return nil
}

// DeleteRange implements raft.LogStore, for a range at either end of the log.
func (s *logStore) DeleteRange(low, high uint64) error {
	compaction := low <= s.engine.FirstIndex() && high < s.engine.LastIndex()
	err := s.remove(low, high)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("raftstore: remove log entries %d to %d: %w", low, high, err)
	if !compaction {
		s.halt(err)
	}
	s.fail(err)
	return err
}

func (s *logStore) remove(low, high uint64) error {
	if err := s.ahead.durable(s.ahead.last()); err != nil {
		return err
	}
	first, last := s.engine.FirstIndex(), s.engine.LastIndex()
	switch {
	case last == 0 || high < first || low > last:
		return nil
	case high >= last:
		if err := s.checkCut(low); err != nil {
			return err
		}
		end, err := s.at(low - 1)
		if err != nil {
			return err
		}
		s.mark.cut(end) // first: the log may reach beyond its mark, not end before it
		s.setCut(true)  // Raft removes a suffix only to replace it
		if low <= first {
			return s.engine.Reset(low)
		}
		return s.engine.TruncateAfter(low - 1)
	case low <= first:
		return s.engine.TruncateBefore(high + 1)
	}
	return fmt.Errorf("the log has entries %d to %d on both sides of it", first, last)
}

// covered fits the log to a snapshot: if it does not hold the snapshot's last
// entry, with that term, then what it holds up to there is not what was
// committed, and goes. Entries behind it stay; Raft compares them itself. It
// must not be called while Raft writes to the log.
func (s *logStore) covered(index, term uint64) error {
	s.mu.Lock()
	s.floor = position{index, term}
	s.mu.Unlock()
	s.ahead.settle()
	first, last := s.engine.FirstIndex(), s.engine.LastIndex()
	var log raft.Log
	switch err := s.engine.Get(index, &log); {
	case err == nil && log.Term == term:
		return nil
	case err != nil && !errors.Is(err, raft.ErrLogNotFound):
		return err
	case last == 0 || first > index:
		return nil
	case last <= index:
		return s.engine.Reset(index + 1)
	}
	return s.engine.TruncateBefore(index + 1)
}

// markEnd makes the end of the log its mark, after a snapshot from the leader took the
// place of entries.
func (s *logStore) markEnd() error {
	end, err := s.end()
	if err == nil {
		s.mark.cut(end)
	}
	return err
}

// end returns the position of the log's last entry, that of the newest snapshot if it
// has none behind that.
func (s *logStore) end() (position, error) { return s.at(s.engine.LastIndex()) }

// at returns the position of the entry at index, or that of the newest snapshot if the
// snapshot includes the entry.
func (s *logStore) at(index uint64) (position, error) {
	s.mu.Lock()
	floor := s.floor
	s.mu.Unlock()
	if index <= floor.index {
		return floor, nil
	}
	var log raft.Log
	err := s.engine.Get(index, &log)
	if errors.Is(err, raft.ErrLogNotFound) {
		err = nil // its term is not known, and is none
	}
	return position{index, log.Term}, err
}

// underway returns how long the append that is under way takes already.
func (s *logStore) underway() time.Duration {
	since := s.since.Load()
	if since == nil {
		return 0
	}
	return time.Since(*since)
}

// Close implements engine.
func (s *logStore) Close() error {
	s.ahead.idle()
	return s.engine.Close()
}

func (s *logStore) setCut(cut bool) {
	s.mu.Lock()
	s.cut = cut
	s.mu.Unlock()
}

func (s *logStore) isCut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}
