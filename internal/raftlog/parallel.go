package raftlog

import (
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// parallelAppend is the end of a leader's log that is written while it is replicated.
//
// A leader may send an entry to the others while it writes the entry itself, if
// it does not count itself among those who have it before it is durable (Ongaro,
// Consensus: Bridging Theory and Practice, 2014, section 10.2.1). Raft, the
// library, counts the leader as soon as StoreLogs returns. So StoreLogs returns
// early only where this count decides nothing, because the other half of every
// majority is held back:
//
//   - Where there are two voters or more, an entry is committed when a follower's
//     acknowledgement of it is counted. The transport passes an acknowledgement on
//     to Raft when the local log is durable up to the same entry (AwaitDurable).
//   - Only commands of the current term are appended in parallel, while the node leads
//     in it. Whatever else is stored, a configuration above all, waits for what went
//     before and is then stored durably.
//   - Before the node goes on to another term, in which it can be a follower and
//     acknowledge what is in its log, all of that is durable.
//   - Entries are appended in parallel only into space that the log has allocated: a
//     full disk shows when Raft can still be told.
//
// A leader that crashes may lose entries that it has sent. It never counted as
// having them, and cannot lead in that term again.
type parallelAppend struct {
	store func([]*raft.Log) error // makes entries durable
	halt  func(error)             // does not return

	mu      sync.Mutex
	changed sync.Cond   // logs became shorter, or lost was set
	logs    []*raft.Log // stored, as Raft sees it, and not known to be durable
	bytes   int64
	busy    bool   // a goroutine is in drain
	lost    error  // the log has failed
	highest uint64 // term that Raft has gone on to
	term    uint64 // in which this node leads and may append in parallel; 0: none
	voters  int    // of the last configuration, 0: unknown
}

// lead lets commands of a term be appended in parallel in which this node leads.
// voters are those of the configuration that Raft works with. One that was stored in
// this term may not be at work yet: the lower number counts.
func (a *parallelAppend) lead(term uint64, voters int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if term != a.highest {
		return
	}
	a.term = term
	if a.voters == 0 || voters < a.voters {
		a.voters = voters
	}
}

// newTerm is to be called before Raft goes on to a term.
func (a *parallelAppend) newTerm(term uint64) {
	a.mu.Lock()
	a.highest = max(a.highest, term)
	a.term, a.voters = 0, 0
	a.mu.Unlock()
	a.settle()
}

// configured notes how many voters a configuration has that was stored.
func (a *parallelAppend) configured(voters int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.voters = voters
}

// take takes entries that may be appended in parallel; false: they may not. room returns
// what the log has space for; what is being written takes of that before it leaves bytes.
func (a *parallelAppend) take(logs []*raft.Log, room func() int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.term == 0 || a.voters < 2 || a.lost != nil {
		return false
	}
	size := a.bytes
	for _, l := range logs {
		if l.Type != raft.LogCommand || l.Term != a.term {
			return false
		}
		size += entrySize(l)
	}
	if size > room() {
		return false
	}
	a.logs, a.bytes = append(a.logs, logs...), size
	if !a.busy {
		a.busy = true
		go a.drain() // ends when everything is durable, or with the log
	}
	return true
}

// entrySize is more than what an entry takes in the log.
func entrySize(l *raft.Log) int64 {
	return int64(len(l.Data)+len(l.Extensions)) + 1<<10
}

// drain makes durable what is there, in one write each time.
func (a *parallelAppend) drain() {
	a.mu.Lock()
	for len(a.logs) > 0 {
		batch := a.logs
		a.mu.Unlock()
		err := a.store(batch)
		a.mu.Lock()
		if err != nil {
			a.lost = fmt.Errorf("raftlog: append to the log: %w", err)
			a.changed.Broadcast()
			a.mu.Unlock()
			a.halt(a.lost)
		}
		for _, l := range batch {
			a.bytes -= entrySize(l)
		}
		a.logs = a.logs[len(batch):]
		a.changed.Broadcast()
	}
	a.logs, a.busy = nil, false
	a.changed.Broadcast()
	a.mu.Unlock()
}

// durable waits until the entry at index is durable, if it is in the log. It
// fails if the log does.
func (a *parallelAppend) durable(index uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.lost == nil && len(a.logs) > 0 && a.logs[0].Index <= index {
		a.changed.Wait()
	}
	return a.lost
}

// settle waits until everything that is there is durable. It does not return if
// that fails.
func (a *parallelAppend) settle() {
	last := a.last()
	if last == 0 {
		return
	}
	if err := a.durable(last); err != nil {
		a.halt(err)
	}
}

// idle waits until nothing of the log is used any more from here.
func (a *parallelAppend) idle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.busy && a.lost == nil {
		a.changed.Wait()
	}
}

// last returns the index of the last entry that is not durable, 0 if there is none.
func (a *parallelAppend) last() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.logs) == 0 {
		return 0
	}
	return a.logs[len(a.logs)-1].Index
}

// get copies an entry that is not durable yet.
func (a *parallelAppend) get(index uint64, log *raft.Log) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.logs) == 0 || index < a.logs[0].Index || index > a.logs[len(a.logs)-1].Index {
		return false
	}
	*log = *a.logs[index-a.logs[0].Index]
	return true
}
