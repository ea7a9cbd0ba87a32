package badstores

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// restartDefects are what a restart brings to light.
var restartDefects = []Bad{
	{Name: "process-memory", Caught: "restart/stop", Also: []string{"restart/kill"},
		Defect: "everything lives in the process", build: eachHandle(correct)},
	{Name: "forgets-clears", Caught: "restart/cleared-stays-cleared",
		Defect: "only saves are written to disk, so that a restart brings back what was cleared",
		build:  restarted(forgets("clear", "trim", "delete", "pop"))},
	{Name: "forgets-pops", Caught: "restart/popped-stays-popped",
		Defect: "a pop is not written to disk, so that a restart undoes it", build: restarted(forgets("pop"))},
	{Name: "forgets-trims", Caught: "restart/trimmed-stays-trimmed",
		Defect: "a trim is not written to disk, so that a restart undoes it", build: restarted(forgets("trim"))},
	{Name: "forgets-deletes", Caught: "restart/deleted-stays-deleted",
		Defect: "a deletion is not written to disk, so that a restart undoes it", build: restarted(forgets("delete"))},
}

// correct is a store whose only defect is that it lives in this process.
func correct(h *memory.Handle) contract.Store { return h }

// journal is what survives a restart: changes, in the order in which they were made.
type journal struct {
	mu      sync.Mutex
	changes []func(ctx context.Context, to *memory.Handle) error
	forgets map[string]bool // kinds of changes that are not written
}

// forgets returns a store whose journal lacks some kinds of changes.
func forgets(kinds ...string) func(*memory.Server) (wrapper, func(context.Context) error) {
	return func(server *memory.Server) (wrap wrapper, restart func(context.Context) error) {
		j := &journal{forgets: map[string]bool{}}
		for _, k := range kinds {
			j.forgets[k] = true
		}
		wrap = func(h *memory.Handle) contract.Store { return journaled{h, j} }
		restart = func(ctx context.Context) error {
			server.Forget()
			return j.replay(ctx, server.Open())
		}
		return wrap, restart
	}
}

// change makes a change and writes it.
func (j *journal) change(ctx context.Context, kind string, to *memory.Handle,
	f func(context.Context, *memory.Handle) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := f(ctx, to)
	if err == nil && !j.forgets[kind] {
		j.changes = append(j.changes, f)
	}
	return err
}

func (j *journal) replay(ctx context.Context, to *memory.Handle) (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range j.changes {
		err = errors.Join(err, f(ctx, to))
	}
	return err
}

type journaled struct {
	*memory.Handle
	journal *journal
}

func (s journaled) Add(ctx context.Context, session string, turn ...contract.Message) error {
	return s.journal.change(ctx, "add", s.Handle, func(ctx context.Context, h *memory.Handle) error {
		return h.Add(ctx, session, turn...)
	})
}

func (s journaled) AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...contract.Message) error {
	end := time.Now().Add(ttl)
	return s.journal.change(ctx, "add", s.Handle, func(ctx context.Context, h *memory.Handle) error {
		return h.AddTTL(ctx, session, max(time.Until(end), time.Nanosecond), turn...)
	})
}

func (s journaled) Clear(ctx context.Context, session string) error {
	return s.journal.change(ctx, "clear", s.Handle, func(ctx context.Context, h *memory.Handle) error {
		return h.Clear(ctx, session)
	})
}

func (s journaled) Delete(ctx context.Context, session string) error {
	return s.journal.change(ctx, "delete", s.Handle, func(ctx context.Context, h *memory.Handle) error {
		return h.Delete(ctx, session)
	})
}

func (s journaled) Trim(ctx context.Context, session string, keep int) error {
	return s.journal.change(ctx, "trim", s.Handle, func(ctx context.Context, h *memory.Handle) error {
		return h.Trim(ctx, session, keep)
	})
}

func (s journaled) Pop(ctx context.Context, session string) (m contract.Message, ok bool, err error) {
	err = s.journal.change(ctx, "pop", s.Handle, func(ctx context.Context, h *memory.Handle) (err error) {
		m, ok, err = h.Pop(ctx, session)
		return err
	})
	return m, ok, err
}
