package raftlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/histogram"
	"github.com/turnlog/turnlog/wal"
)

// Store is Raft's log over an engine.
//
// Any error but a full disk ends the goroutine that met it, by Config.Halt: Raft
// would go on, as a follower that may vote, with a log that is not what it
// believes. A full disk does the same if it hits between the removal of
// conflicting entries and the storing of those that replace them, since Raft
// then no longer knows where its log ends. An error of a compaction makes the node
// stop as well, but is returned: the log is what Raft believes, and a caller that waits
// for the snapshot would wait for ever.
//
// A leader's entries are stored in parallel to their replication: see parallelAppend.
// Entries that the engine has are called durable here.
type Store struct {
	cfg      Config
	engine   Engine
	parallel parallelAppend

	changes atomic.Uint64 // the term for changes of the configuration, see proposal.go

	mu    sync.Mutex
	floor Position // of the newest snapshot, see FitToSnapshot
	cut   bool     // a suffix was removed and nothing stored since

	syncs *histogram.Durations
	since atomic.Pointer[time.Time] // when the append in flight began; nil: none is
}

// Config connects a Store with its node. All functions are required, and may be called by
// any goroutine.
type Config struct {
	Mark *HighWater  // nil: none is kept
	Fail func(error) // makes the node stop
	Halt func(error) // the same, and ends the calling goroutine: it does not return
	// Known returns what the node knows to be committed.
	Known func() Known
	// Placed is told that a proposal of this node gets its place in the log. It must not block.
	Placed func()
	// Leads reports whether this node leads, as far as Raft's main loop has got.
	Leads func() bool
}

// New returns a log over an engine, which it closes. It starts nothing.
func New(e Engine, c Config) *Store {
	s := &Store{cfg: c, engine: e, syncs: histogram.New(100*time.Microsecond, 250*time.Microsecond,
		500*time.Microsecond, time.Millisecond, 2500*time.Microsecond, 5*time.Millisecond, 10*time.Millisecond,
		25*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond, 500*time.Millisecond,
		time.Second, 5*time.Second)}
	s.parallel.store, s.parallel.halt = s.timed, c.Halt
	s.parallel.changed.L = &s.parallel.mu
	return s
}

// maxAppend bounds one append to the engine.
const maxAppend = 16 << 20

// FirstDurable returns the index of the first entry that is durable, 0 if there is none.
func (s *Store) FirstDurable() uint64 { return s.engine.FirstIndex() }

// LastDurable returns the index of the last entry that is durable, 0 if there is none.
// LastIndex is beyond it while entries are appended in parallel.
func (s *Store) LastDurable() uint64 { return s.engine.LastIndex() }

// IndexForTail returns the lowest index from which the durable entries to the end have at
// most so many bytes.
func (s *Store) IndexForTail(bytes int64) uint64 { return s.engine.IndexForTail(bytes) }

// Room returns how many bytes the next append surely finds allocated.
func (s *Store) Room() int64 { return s.engine.Room() }

// TailBytes returns how many bytes the durable entries from index on take.
func (s *Store) TailBytes(index uint64) int64 { return s.engine.TailBytes(index) }

// Wanted returns how many bytes of the disk the log is waiting for, so that it can go on when Room is used up.
func (s *Store) Wanted() int64 { return s.engine.Wanted() }

// SaveSpace says whether the disk has better use for space that the log only keeps for later.
func (s *Store) SaveSpace(save bool) { s.engine.SaveSpace(save) }

// OpenFiles returns how many files of the log are open whose number grows with it.
func (s *Store) OpenFiles() int { return s.engine.OpenFiles() }

// Lead lets entries of a term be appended in parallel in which this node leads, with the
// configuration that Raft works with.
func (s *Store) Lead(term uint64, c raft.Configuration) { s.parallel.lead(term, voters(c)) }

// NewTerm is to be called before Raft goes on to a term. It returns when everything that
// was stored is durable.
func (s *Store) NewTerm(term uint64) { s.parallel.newTerm(term) }

// AwaitDurable waits until the entry at index is durable, if it is in the log. It fails if
// the log does.
func (s *Store) AwaitDurable(index uint64) error { return s.parallel.durable(index) }

// Run does the engine's background work until ctx ends.
func (s *Store) Run(ctx context.Context) error { return s.engine.Run(ctx) }

// Appends returns how long synced appends took.
func (s *Store) Appends() histogram.Report { return s.syncs.Report() }

// AppendTime returns how many appends there were, and how many nanoseconds they took together.
func (s *Store) AppendTime() (count uint64, nanos int64) {
	return s.syncs.Count(), s.syncs.Total().Nanoseconds()
}

// FirstIndex implements raft.LogStore.
func (s *Store) FirstIndex() (uint64, error) { return s.engine.FirstIndex(), nil }

// LastIndex implements raft.LogStore.
func (s *Store) LastIndex() (uint64, error) {
	if last := s.parallel.last(); last > 0 {
		return last, nil
	}
	return s.engine.LastIndex(), nil
}

// StoreLog implements raft.LogStore.
func (s *Store) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore. A gap before the first entry means that a
// snapshot took the place of everything before it. The entries are durable on
// return, unless they are appended in parallel.
func (s *Store) StoreLogs(logs []*raft.Log) error {
	if err := s.takeProposals(logs); err != nil {
		return s.rejected(logs, err)
	}
	if last, _ := s.LastIndex(); last > 0 && logs[0].Index == last+1 && s.parallel.take(logs, s.engine.Room) {
		return nil
	}
	s.parallel.settle()
	err := s.timed(logs)
	if err == nil {
		s.setCut(false)
		s.noteConfiguration(logs)
		return nil
	}
	if errors.Is(err, wal.ErrNoSpace) && !s.isCut() {
		return s.rejected(logs, err)
	}
	s.cfg.Halt(fmt.Errorf("raftlog: append to the log: %w", err))
	return err
}

// timed makes entries durable and notes how long that takes.
func (s *Store) timed(logs []*raft.Log) error {
	began := time.Now()
	s.since.Store(&began)
	defer func() {
		s.since.Store(nil)
		s.syncs.Add(time.Since(began))
	}()
	return s.store(logs)
}

// store makes entries durable, all or, if the disk is full, none: Raft does not know of a part.
func (s *Store) store(logs []*raft.Log) error {
	if last := s.engine.LastIndex(); last == 0 || logs[0].Index > last+1 {
		if err := s.engine.Reset(logs[0].Index); err != nil {
			return err
		}
	}
	for left := logs; len(left) > 0; {
		n, bytes := 1, len(left[0].Data)
		for n < len(left) && bytes+len(left[n].Data) <= maxAppend {
			bytes += len(left[n].Data)
			n++
		}
		if err := s.engine.Append(left[:n]); err != nil {
			return s.takeBack(logs[:len(logs)-len(left)], err)
		}
		left = left[n:]
	}
	last := logs[len(logs)-1]
	s.cfg.Mark.Reached(Position{last.Index, last.Term})
	return nil
}

// takeBack removes the entries that were stored before the disk was found full, and returns why the others are not. Any
// other error ends the log.
func (s *Store) takeBack(stored []*raft.Log, why error) error {
	if len(stored) == 0 || !errors.Is(why, wal.ErrNoSpace) {
		return why
	}
	if err := s.engine.TruncateAfter(stored[0].Index - 1); err != nil {
		return fmt.Errorf("%v; remove what was stored before that: %v", why, err) // be it ErrNoSpace as well
	}
	return why
}

// DeleteRange implements raft.LogStore, for a range at either end of the log.
func (s *Store) DeleteRange(low, high uint64) error {
	compaction := low <= s.engine.FirstIndex() && high < s.engine.LastIndex()
	err := s.remove(low, high)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("raftlog: remove log entries %d to %d: %w", low, high, err)
	if !compaction {
		s.cfg.Halt(err)
	}
	s.cfg.Fail(err)
	return err
}

func (s *Store) remove(low, high uint64) error {
	if err := s.parallel.durable(s.parallel.last()); err != nil {
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
		s.cfg.Mark.cut(end) // first: the log may reach beyond its mark, not end before it
		s.setCut(true)      // Raft removes a suffix only to replace it
		if low <= first {
			return s.engine.Reset(low)
		}
		return s.engine.TruncateAfter(low - 1)
	case low <= first:
		return s.engine.TruncateBefore(high + 1)
	}
	return fmt.Errorf("the log has entries %d to %d on both sides of it", first, last)
}

// FitToSnapshot fits the log to a snapshot: if it does not hold the snapshot's last
// entry, with that term, then what it holds up to there is not what was
// committed, and goes. Entries behind it stay; Raft compares them itself. It
// must not be called while Raft writes to the log.
func (s *Store) FitToSnapshot(index, term uint64) error {
	s.mu.Lock()
	s.floor = Position{index, term}
	s.mu.Unlock()
	s.parallel.settle()
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

// MarkEnd makes the end of the log its high-water mark, after a snapshot from the leader
// took the place of entries.
func (s *Store) MarkEnd() error {
	end, err := s.End()
	if err == nil {
		s.cfg.Mark.cut(end)
	}
	return err
}

// End returns the position of the log's last entry, that of the newest snapshot if it
// has none behind that.
func (s *Store) End() (Position, error) { return s.at(s.engine.LastIndex()) }

// at returns the position of the entry at index, or that of the newest snapshot if the
// snapshot includes the entry.
func (s *Store) at(index uint64) (Position, error) {
	s.mu.Lock()
	floor := s.floor
	s.mu.Unlock()
	if index <= floor.Index {
		return floor, nil
	}
	var log raft.Log
	err := s.engine.Get(index, &log)
	if errors.Is(err, raft.ErrLogNotFound) {
		err = nil // its term is not known, and is none
	}
	return Position{index, log.Term}, err
}

// Appending returns how long the append in flight has taken so far, 0 if none is.
func (s *Store) Appending() time.Duration {
	since := s.since.Load()
	if since == nil {
		return 0
	}
	return time.Since(*since)
}

// Close waits for appends in flight and closes the engine.
func (s *Store) Close() error {
	s.parallel.idle()
	return s.engine.Close()
}

func (s *Store) setCut(cut bool) {
	s.mu.Lock()
	s.cut = cut
	s.mu.Unlock()
}

func (s *Store) isCut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}
