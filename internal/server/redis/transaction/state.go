package transaction

import (
	"context"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// Redis's own texts, which clients compare.
const (
	// ErrNotWithin refuses what cannot be queued.
	ErrNotWithin command.Error = "ERR Command not allowed inside a transaction"
	// ErrExecAbort answers EXEC behind a request that was refused.
	ErrExecAbort command.Error = "EXECABORT Transaction discarded because of previous errors."

	errNested      command.Error = "ERR MULTI calls can not be nested"
	errNoMulti     command.Error = "ERR EXEC without MULTI"
	errNoDiscard   command.Error = "ERR DISCARD without MULTI"
	errWatchWithin command.Error = "ERR WATCH inside MULTI is not allowed"
)

// queuedOverhead and watchedOverhead are the bookkeeping bytes of a queued request
// and of a watched key.
const (
	queuedOverhead  = 256
	watchedOverhead = 160
)

// State is how far a client has got with WATCH and MULTI. It belongs to the goroutine that reads
// requests.
type State struct {
	memory   resp.Memory
	maxBytes int    // of the requests that can be queued
	open     *queue // since MULTI; nil: none
	watched  []*watched
	// queueing and watching are the bytes that memory was charged with.
	queueing, watching int
}

// queue is what a connection has queued since MULTI.
type queue struct {
	requests []queued
	steps    int
	bytes    int  // of the requests
	dirty    bool // one was refused: EXEC does nothing
}

// watched is a key that WATCH looked at. It belongs to the goroutine that looks
// until the connection's barrier is past.
type watched struct {
	turn.Watched
	known bool
}

// New returns the state of a client that has begun no transaction. It can queue requests of
// maxBytes together, with which memory is charged.
func New(memory resp.Memory, maxBytes int) State { return State{memory: memory, maxBytes: maxBytes} }

// Open reports whether there has been a MULTI.
func (s *State) Open() bool { return s.open != nil }

// Spoil lets EXEC do nothing, if there has been a MULTI.
func (s *State) Spoil() {
	if s.open != nil {
		s.open.dirty = true
	}
}

// Forget drops what is queued and what is watched.
func (s *State) Forget() {
	s.memory.Give(s.queueing)
	s.open, s.queueing = nil, 0
	s.unwatch()
}

func (s *State) unwatch() {
	s.memory.Give(s.watching)
	s.watched, s.watching = nil, 0
}

// Multi begins to queue requests.
func (s *State) Multi() command.Action {
	if s.open != nil {
		return errNested
	}
	s.open = new(queue)
	return command.Status("OK")
}

// Discard is DISCARD.
func (s *State) Discard() command.Action {
	if s.open == nil {
		return errNoDiscard
	}
	s.Forget()
	return command.Status("OK")
}

// Watch has the backend look at keys, so that EXEC does nothing if one changes before it.
func (s *State) Watch(keys []turn.Key, b *command.Backend) command.Action {
	if s.open != nil {
		return errWatchWithin
	}
	if len(s.watched)+len(keys) >= turn.MaxSteps {
		return command.TooLarge("at most %d keys can be watched", turn.MaxSteps)
	}
	room := 0
	for _, k := range keys {
		room += len(k.Name) + watchedOverhead
	}
	if !s.memory.Take(room) {
		return command.ErrCrowded
	}
	s.watching += room
	var ws []*watched
	for _, k := range keys {
		ws = append(ws, &watched{Watched: turn.Watched{Key: k}})
	}
	s.watched = append(s.watched, ws...)
	return command.AloneLinearizable(func(ctx context.Context) (command.Reply, error) {
		index := uint64(0)
		for _, w := range ws {
			r, err := b.Since(ctx, index, command.InfoOf(w.Key))
			if err != nil {
				return nil, err
			}
			if r.Session != nil {
				w.Revision = r.Session.Revision
			}
			w.known = true
			index = r.Index
		}
		return command.Status("OK"), nil
	})
}

// Unwatch is UNWATCH. In a transaction it comes too late, as in Redis.
func (s *State) Unwatch() command.Action {
	if s.open == nil {
		s.unwatch()
	}
	return command.Status("OK")
}

// Passes reports whether a command is done at once within a transaction.
func Passes(cmd *command.Command) bool {
	switch cmd.Name {
	case "multi", "exec", "discard", "watch", "quit", "reset":
		return true
	}
	return false
}

// Enqueue queues a request of so many bytes, of which dispatch makes the action; refusal says why
// it cannot be handled. There must have been a MULTI.
func (s *State) Enqueue(cmd *command.Command, refusal command.Error, bytes int,
	dispatch func() command.Action) command.Action {
	q := queued{cmd: cmd}
	if refusal == "" {
		refusal = s.prepare(&q, bytes, dispatch)
	}
	if refusal != "" {
		s.open.dirty = true
		return refusal
	}
	s.open.requests = append(s.open.requests, q)
	s.open.steps += max(1, q.steps)
	s.open.bytes += bytes
	return command.Status("QUEUED")
}

// prepare makes the action of a request that is about to be queued, if there is room for it.
func (s *State) prepare(q *queued, bytes int, dispatch func() command.Action) command.Error {
	switch {
	case q.cmd.Stateful:
		return ErrNotWithin
	case s.open.bytes+bytes > s.maxBytes:
		return command.TooLarge("the transaction has more than %d bytes", s.maxBytes)
	case !s.memory.Take(bytes + queuedOverhead):
		return command.ErrCrowded
	}
	s.queueing += bytes + queuedOverhead
	q.action = dispatch()
	switch q.steps = countSteps(q.action); {
	case !inTransaction(q.action):
		return ErrNotWithin
	case s.open.steps+max(1, q.steps) > turn.MaxSteps:
		return command.TooLarge("the transaction has more than %d steps", turn.MaxSteps)
	}
	return ""
}

// Exec ends the transaction and returns its operation; where there is none, b is nil and the answer
// given. settle waits until the actions of all WATCHes have ended.
func (s *State) Exec(limits turn.Limits, settle func()) (b *Batch, answer command.Action) {
	open, ws := s.open, s.watched
	if open == nil {
		return nil, errNoMulti
	}
	s.Forget()
	if open.dirty {
		return nil, ErrExecAbort
	}
	tx := new(turn.Tx)
	if len(ws) > 0 {
		settle()
	}
	for _, w := range ws {
		if !w.known {
			return nil, command.NullArray()
		}
		tx.Watch = append(tx.Watch, w.Watched)
	}
	return newBatch(open.requests, tx, limits), nil
}
