package diskspace

import (
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Space tells whether there is room to write: on this node's disk, and on as
// many of the cluster's as it takes to commit. All methods may be called by any goroutine.
type Space struct {
	short     atomic.Pointer[turn.Error] // why this node's disk is to take no more; nil: it has room
	saving    atomic.Bool                // see Saving
	logFull   atomic.Bool                // the log has room for a few more entries only
	full      atomic.Pointer[turn.Error] // why operations that need space are rejected; nil: they are not
	exhausted atomic.Bool                // this node leads, and there is no room even for what frees space
	heard     atomic.Int64               // when full was learned from the leader, by the clock; 0: it was not
	free      atomic.Uint64              // bytes, as last seen
	clock     func() time.Duration       // monotonic time
}

func newSpace() *Space {
	began := time.Now()
	return &Space{clock: func() time.Duration { return time.Since(began) }}
}

// Refusal returns why operations that need space are rejected, nil if they are not.
func (s *Space) Refusal() *turn.Error { return s.full.Load() }

// Short returns why this node's disk is to take no more, nil if it has room.
func (s *Space) Short() *turn.Error { return s.short.Load() }

// Free returns the free bytes of this node's disk, as last seen.
func (s *Space) Free() uint64 { return s.free.Load() }

// Saving reports whether the space of this node's disk is needed more than a long log.
func (s *Space) Saving() bool { return s.saving.Load() }

// LogFull reports whether this node's log has room for a few more entries only.
func (s *Space) LogFull() bool { return s.logFull.Load() }

// Exhausted reports whether this node leads and there is no room even for what frees space.
func (s *Space) Exhausted() bool { return s.exhausted.Load() }

// Rejects returns why op is rejected, nil if it is not.
func (s *Space) Rejects(op turn.Op) *turn.Error {
	why := s.Refusal()
	if why == nil || freesSpace(op) && !s.exhausted.Load() {
		return nil
	}
	return why
}

// Admits reports whether a command takes place in spite of a refusal, because it frees space.
func (s *Space) Admits(c codec.Command) bool { return !s.exhausted.Load() && freesEncoded(c) }

func freesEncoded(c codec.Command) bool {
	op, err := codec.DecodeOp(c.Op)
	return err == nil && freesSpace(op)
}

// freesSpace reports whether an operation is admitted on a full disk.
func freesSpace(op turn.Op) bool {
	if _, ok := op.(*codec.Checksum); ok {
		return true // it changes nothing
	}
	return turn.Frees(op)
}

// Hear takes the leader's decision; nil: it admits everything.
func (s *Space) Hear(why *turn.Error) {
	s.full.Store(why)
	s.heard.Store(int64(max(s.clock(), 1)))
}

// forget drops a decision of a leader that was not repeated for so long.
func (s *Space) forget(age time.Duration) {
	if at := s.heard.Load(); at == 0 || s.clock()-time.Duration(at) > age {
		s.full.Store(nil)
	}
}

// Report is what a voter tells the leader of its disk.
type Report struct {
	Short   bool   // it has less than the reserve
	Why     string // if so, how much
	LogFull bool   // its log has room for a few more entries only
}

// Report returns this node's own.
func (s *Space) Report() Report {
	r := Report{LogFull: s.logFull.Load()}
	if short := s.short.Load(); short != nil {
		r.Short, r.Why = true, short.Message
	}
	return r
}
