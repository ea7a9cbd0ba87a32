package raftstore

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// proposer packs the commands that wait on the leader into log entries.
//
// It works only during a leader term, from begin to end. Two sources
// feed it: the node's own table of calls, and units, which come from other nodes
// or from the leader itself. What waits is sent at once when no entry is on its
// way through Raft; while one is, more gathers (CallBounds.Depth, Overlap).
//
// The first entry that fails ends the leader term, and everything that waits is
// refused: a later command must not overtake an earlier one that has to be sent
// again. For the same reason an entry is given to Raft only when the one before it
// has its place in the log, see raftlog.NewProposal.
type proposer struct {
	bounds CallBounds
	calls  *calls
	log    *slog.Logger
	space  *diskSpace
	wake   chan struct{} // cap 1

	mu     sync.Mutex
	term   *leaderTerm // nil: not leading
	units  []*unit
	bytes  int  // of units
	passed bool // the last entry had no room for own calls: they come first
	flight int  // entries on their way through Raft
	// entering is the entry of them that is not in the log yet; nil: all are.
	entering *entryBatch
	held     int // by hold

	stats proposerStats
}

type proposerStats struct {
	entries, commands, bytes, refused atomic.Uint64
}

// unit is a run of commands that is proposed as a whole.
type unit struct {
	commands []codec.Command
	bytes    int
	weight   int  // of all commands: see fsm.Weight
	internal bool // proposed even if the disk is full
	// done is called once, by any goroutine, with an outcome for each command,
	// or with why there is none. It must not block.
	done func([]fsm.Outcome, *failure)
}

// failure says why commands were not applied, as far as this node knows.
type failure struct {
	definite bool // they surely were not, and will not be
	err      *turn.Error
}

func newProposer(bounds CallBounds, calls *calls, space *diskSpace, log *slog.Logger) *proposer {
	return &proposer{bounds: bounds, calls: calls, space: space, log: log, wake: make(chan struct{}, 1)}
}

func poke(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// begin starts to propose in a leader term, with its first unit.
func (p *proposer) begin(lt *leaderTerm, first *unit) {
	lt.gen = p.calls.rewind()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term = lt
	p.units = append(p.units, first)
	p.bytes += first.bytes
	poke(p.wake)
}

// end ends a leader term, if it is the present one, and refuses what waits.
func (p *proposer) end(lt *leaderTerm) {
	p.mu.Lock()
	if lt == nil || p.term != lt {
		p.mu.Unlock()
		return
	}
	p.term = nil
	close(lt.over)
	refused := p.units
	p.units, p.bytes = nil, 0
	p.mu.Unlock()
	for _, u := range refused {
		u.done(nil, notLeader())
	}
}

// current returns the leader term; nil: this node does not lead.
func (p *proposer) current() *leaderTerm {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.term
}

func notLeader() *failure {
	return &failure{definite: true, err: turn.Errorf(turn.Unavailable, "this node does not lead any more")}
}

// offer queues a unit in the given leader term, or in the present one if lt is nil, and
// returns which that is. If it returns a failure, which is always a definite one,
// done will not be called.
func (p *proposer) offer(u *unit, lt *leaderTerm) (*leaderTerm, *failure) {
	if !u.internal {
		if why := p.space.rejectsAny(u.commands); why != nil {
			return nil, &failure{true, why}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.term == nil || lt != nil && lt != p.term {
		return nil, notLeader()
	}
	if p.bytes > 0 && p.bytes+u.bytes > p.bounds.MaxBytes {
		p.stats.refused.Add(1)
		return nil, &failure{true, turn.Errorf(turn.Overloaded, "%d bytes of operations wait on the leader", p.bytes)}
	}
	p.units = append(p.units, u)
	p.bytes += u.bytes
	poke(p.wake)
	return p.term, nil
}

// run proposes until ctx ends.
func (p *proposer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		// Callers that were just answered are about to ask again: they go first,
		// if they are ready to run now. Nothing is waited for.
		runtime.Gosched()
		for p.step() {
		}
	}
}

// step proposes one entry; false: there is nothing to do until the next wake.
func (p *proposer) step() bool {
	p.mu.Lock()
	lt := p.term
	if lt == nil || p.held > 0 || p.entering != nil || p.flight >= p.bounds.Depth || p.flight > 0 && p.waitingLocked() < p.bounds.Overlap {
		p.mu.Unlock()
		return false
	}
	batch := p.gatherLocked(lt)
	if batch == nil {
		p.mu.Unlock()
		return false
	}
	p.flight++
	p.entering = batch
	p.mu.Unlock()
	p.propose(lt, batch)
	return true
}

// waitingLocked counts the commands that wait.
func (p *proposer) waitingLocked() int {
	n := p.calls.pending()
	for _, u := range p.units {
		n += len(u.commands)
	}
	return n
}

func (p *proposer) propose(lt *leaderTerm, out *entryBatch) {
	if !lt.holds() {
		p.settle(lt, out, nil, notLeader())
		return
	}
	size := 16 + len(out.commands)*24 + out.bytes
	entry := codec.AppendEntry(make([]byte, 0, size), lt.clock.Now(lt.last()), out.commands)
	p.stats.entries.Add(1)
	p.stats.commands.Add(uint64(len(out.commands)))
	p.stats.bytes.Add(uint64(len(entry)))
	// Without a timeout: Raft's main loop takes it, or Raft is shut down. What
	// waits for the outcome has deadlines of its own.
	future := lt.raft.ApplyLog(raftlog.NewProposal(lt.term, entry), 0)
	go func() { // ends when Raft resolves the future, or is lost with it at a shutdown
		err := future.Error()
		outs, _ := future.Response().([]fsm.Outcome)
		switch {
		case err != nil:
			p.settle(lt, out, nil, classify(err))
		case len(outs) != len(out.commands):
			p.settle(lt, out, nil, &failure{false, turn.Errorf(turn.Unknown, "the node stopped while the operation was applied")})
		default:
			p.settle(lt, out, outs, nil)
		}
	}()
}

// classify tells what an error of raft.Apply means for the entry. Anything that
// is not known to have been refused may be in a log, and be committed later.
func classify(err error) *failure {
	switch {
	case errors.Is(err, raft.ErrNotLeader),
		errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, raft.ErrLeadershipTransferInProgress),
		errors.Is(err, raft.ErrAbortedByRestore),
		errors.Is(err, raftlog.ErrOtherTerm):
		return notLeader()
	}
	return &failure{false, turn.Errorf(turn.Unknown, "the leader lost leadership before the outcome was known: %v", err)}
}

// settle tells all callers of an entry what became of it.
func (p *proposer) settle(lt *leaderTerm, out *entryBatch, outs []fsm.Outcome, f *failure) {
	if f != nil {
		p.end(lt)
	}
	for _, u := range out.units {
		if f != nil {
			u.done(nil, f)
			continue
		}
		u.done(outs[:len(u.commands):len(u.commands)], nil)
		outs = outs[len(u.commands):]
	}
	if out.local != nil {
		switch {
		case f == nil: // the state machine has told the table already
		case f.definite:
			p.calls.refused(out.local, f.err, false)
		default:
			p.calls.lost(out.local)
		}
	}
	p.mu.Lock()
	p.flight--
	if p.entering == out {
		p.entering = nil // it is not in the log, and the term is over
	}
	p.mu.Unlock()
	poke(p.wake)
}

// taken notes that the entry on its way into the log has its place there.
func (p *proposer) taken() {
	p.mu.Lock()
	p.entering = nil
	p.mu.Unlock()
	poke(p.wake)
}

// hold stops proposing until release is called, and waits, as long as ctx, until
// nothing is on its way.
func (p *proposer) hold(ctx context.Context) (release func(), err error) {
	p.mu.Lock()
	p.held++
	p.mu.Unlock()
	release = func() {
		p.mu.Lock()
		p.held--
		p.mu.Unlock()
		poke(p.wake)
	}
	for {
		p.mu.Lock()
		flight := p.flight
		p.mu.Unlock()
		if flight == 0 {
			return release, nil
		}
		select {
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// idle reports whether nothing waits and nothing is under way.
func (p *proposer) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flight == 0 && len(p.units) == 0
}
