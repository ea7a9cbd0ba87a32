package badstores

import (
	"context"
	"errors"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// poolDefects are what goes wrong when connections run out.
var poolDefects = []Bad{
	{Name: "pool-false-save", Caught: "faults/pool-exhausted",
		Defect: "a save that gets no connection is logged and reported as done",
		build:  eachHandle(withPool(true, false))},
	{Name: "pool-leaks", Caught: "faults/pool-exhausted",
		Defect: "a call that fails does not return its connection to the pool",
		build:  eachHandle(withPool(false, true))},
}

const (
	poolConnections = 10
	poolTime        = 300 * time.Millisecond // to wait for a connection
)

var errPool = errors.New("no connection is free")

// pooled shares a few connections among its callers.
type pooled struct {
	*memory.Handle
	free  chan struct{}
	quiet bool // a save without a connection is logged and reported as done
	leaky bool // a call that fails keeps its connection
}

func withPool(quiet, leaky bool) wrapper {
	return func(h *memory.Handle) contract.Store {
		s := pooled{h, make(chan struct{}, poolConnections), quiet, leaky}
		for range poolConnections {
			s.free <- struct{}{}
		}
		return s
	}
}

func (s pooled) call(ctx context.Context, f func() error) error {
	select {
	case <-s.free:
	case <-time.After(poolTime):
		return errPool
	case <-ctx.Done():
		return ctx.Err()
	}
	err := f()
	if err == nil || !s.leaky {
		s.free <- struct{}{}
	}
	return err
}

func (s pooled) Add(ctx context.Context, session string, turn ...contract.Message) error {
	err := s.call(ctx, func() error { return s.Handle.Add(ctx, session, turn...) })
	if s.quiet && errors.Is(err, errPool) {
		return nil // "logged"
	}
	return err
}

func (s pooled) Load(ctx context.Context, session string) (ms []contract.Message, err error) {
	err = s.call(ctx, func() error {
		ms, err = s.Handle.Load(ctx, session)
		return err
	})
	return ms, err
}
