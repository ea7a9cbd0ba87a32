package badstores

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// retentionDefects are what goes wrong where sessions keep a length by themselves.
var retentionDefects = []Bad{
	{Name: "shortens-once", Caught: "sequential/keeps-its-length",
		Defect: "a session is shortened when it is told how much to keep, and never again",
		build:  eachHandle(shortensOnce)},
	{Name: "shortens-afterwards", Caught: "concurrency/length-at-once",
		Defect: "a save shortens the session in a request of its own, behind the one that saves",
		build:  allHandles(shortensAfterwards)},
	{Name: "forgets-dropped", Caught: "retry/dropped-stays-dropped",
		Defect: "a message that a session drops by itself takes its id along", build: allHandles(forgetsDropped)},
}

type shortenedOnce struct{ *memory.Handle }

func shortensOnce(h *memory.Handle) contract.Store { return shortenedOnce{h} }

func (s shortenedOnce) Retain(ctx context.Context, session string, keep int) error {
	return s.Handle.Trim(ctx, session, keep)
}

// lengths are what sessions are to keep, by their keys.
type lengths struct {
	mu     sync.Mutex
	keep   map[string]int
	forget bool // the ids of what is dropped
}

func (l *lengths) of(session string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keep[session]
}

func shortensAfterwards() wrapper {
	l := &lengths{keep: make(map[string]int)}
	return func(h *memory.Handle) contract.Store { return shortened{h, l} }
}

func forgetsDropped() wrapper {
	l := &lengths{keep: make(map[string]int), forget: true}
	return func(h *memory.Handle) contract.Store { return shortened{h, l} }
}

// shortened shortens sessions itself.
type shortened struct {
	*memory.Handle
	lengths *lengths
}

func (s shortened) Retain(ctx context.Context, session string, keep int) error {
	s.lengths.mu.Lock()
	s.lengths.keep[session] = keep
	s.lengths.mu.Unlock()
	return s.Handle.Trim(ctx, session, keep)
}

func (s shortened) Add(ctx context.Context, session string, turn ...contract.Message) error {
	keep := s.lengths.of(session)
	if keep == 0 {
		return s.Handle.Add(ctx, session, turn...)
	}
	if s.lengths.forget {
		return s.rewrite(ctx, session, keep, turn)
	}
	if err := s.Handle.Add(ctx, session, turn...); err != nil {
		return err
	}
	time.Sleep(hop)
	return s.Handle.Trim(ctx, session, keep)
}

// rewrite stores what the session has after a turn as a new one, which knows no other ids.
func (s shortened) rewrite(ctx context.Context, session string, keep int, turn []contract.Message) error {
	s.lengths.mu.Lock()
	defer s.lengths.mu.Unlock()
	if err := s.Handle.Add(ctx, session, turn...); err != nil {
		return err
	}
	ms, err := s.Handle.Load(ctx, session)
	if err != nil || len(ms) <= keep {
		return err
	}
	if err := s.Handle.Delete(ctx, session); err != nil {
		return err
	}
	return s.Handle.Add(ctx, session, ms[len(ms)-keep:]...)
}
