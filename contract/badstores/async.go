package badstores

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// asyncDefects are what goes wrong with asynchronous calls.
var asyncDefects = []Bad{
	{Name: "async-cache", Caught: "sequential/async-load",
		Defect: "asynchronous loads have a cache of their own", build: eachHandle(cachesAsync)},
	{Name: "async-clear-later", Caught: "sequential/async-clear",
		Defect: "an asynchronous clear is reported as done when it has begun", build: eachHandle(clearsLater)},
	{Name: "async-shared", Caught: "isolation/same-instant-async",
		Defect: "asynchronous loads keep the current session in one place", build: eachHandle(sharesAsync)},
	{Name: "async-swallows-errors", Caught: "faults/async-load-cut", Also: []string{"faults/async-clear-cut"},
		Defect: "an asynchronous load or clear that failed reports no error",
		build:  eachHandle(swallowsAsync(anyError))},
	{Name: "async-swallows-answers", Caught: "faults/async-load-cut", Also: []string{"faults/async-clear-cut"},
		Defect: "an error that the server answers to an asynchronous load or clear is dropped",
		build:  eachHandle(swallowsAsync(anAnswer))},
}

// asyncCache answers asynchronous loads with what it has loaded asynchronously before.
type asyncCache struct {
	*memory.Handle
	mu   sync.Mutex
	seen map[string]contract.Loaded
}

func cachesAsync(h *memory.Handle) contract.Store {
	return &asyncCache{Handle: h, seen: map[string]contract.Loaded{}}
}

func (s *asyncCache) LoadAsync(ctx context.Context, session string) <-chan contract.Loaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.seen[session]
	if !ok {
		l = <-s.Handle.LoadAsync(ctx, session)
		s.seen[session] = l
	}
	done := make(chan contract.Loaded, 1)
	done <- l
	return done
}

// forgetful reports an asynchronous clear as done when it has begun.
type forgetful struct{ *memory.Handle }

func clearsLater(h *memory.Handle) contract.Store { return forgetful{h} }

func (s forgetful) ClearAsync(_ context.Context, session string) <-chan error {
	done := make(chan error, 1)
	done <- nil
	go func() {
		time.Sleep(10 * hop)
		s.Handle.Clear(context.Background(), session)
	}()
	return done
}

// asyncShared keeps the current session in one place for all coroutines.
type asyncShared struct {
	*memory.Handle
	current *current
}

func sharesAsync(h *memory.Handle) contract.Store {
	return &asyncShared{h, &current{Handle: h}}
}

func (s *asyncShared) LoadAsync(ctx context.Context, session string) <-chan contract.Loaded {
	s.current.enter(session)
	done := make(chan contract.Loaded, 1)
	go func() {
		ms, err := s.Handle.Load(ctx, s.current.here())
		done <- contract.Loaded{Messages: ms, Err: err}
	}()
	return done
}

// asyncQuiet loses the errors of its coroutines that it takes for none, as tasks that
// that are not waited for do.
type asyncQuiet struct {
	*memory.Handle
	harmless func(error) bool
}

func swallowsAsync(harmless func(error) bool) wrapper {
	return func(h *memory.Handle) contract.Store { return asyncQuiet{h, harmless} }
}

func anyError(error) bool { return true }

// anAnswer reports whether the server answered err: no connection broke.
func anAnswer(err error) bool { return errors.Is(err, contract.ErrNotApplied) }

func (s asyncQuiet) LoadAsync(ctx context.Context, session string) <-chan contract.Loaded {
	done := make(chan contract.Loaded, 1)
	go func() {
		ms, err := s.Handle.Load(ctx, session)
		done <- contract.Loaded{Messages: ms, Err: s.heard(err)}
	}()
	return done
}

func (s asyncQuiet) ClearAsync(ctx context.Context, session string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.heard(s.Handle.Clear(ctx, session)) }()
	return done
}

func (s asyncQuiet) heard(err error) error {
	if err == nil || s.harmless(err) {
		return nil
	}
	return err
}
