package memory

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/contract"
)

// Handle is a contract.Store with every optional interface.
type Handle struct {
	server    *Server
	namespace string
	line      *Line // nil: nothing lies between the handle and the server
}

func (h *Handle) call(ctx context.Context, f func()) error { return h.line.pass(ctx, f) }

// add is every kind of append; version "" is no condition.
func (h *Handle) add(ctx context.Context, session, version string, ttl time.Duration, turn []contract.Message) error {
	var err error
	if lost := h.call(ctx, func() { err = h.server.add(h.namespace, session, version, ttl, turn) }); lost != nil {
		return lost
	}
	return err
}

func (h *Handle) Add(ctx context.Context, session string, turn ...contract.Message) error {
	return h.add(ctx, session, "", 0, turn)
}

func (h *Handle) AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...contract.Message) error {
	return h.add(ctx, session, "", ttl, turn)
}

func (h *Handle) AddIf(ctx context.Context, session, version string, turn ...contract.Message) error {
	return h.add(ctx, session, version, 0, turn)
}

func (h *Handle) AddAsync(ctx context.Context, session string, turn ...contract.Message) <-chan error {
	return contract.Goroutine(ctx, h, session, turn...)
}

func (h *Handle) LoadAsync(ctx context.Context, session string) <-chan contract.Loaded {
	return contract.GoroutineLoad(ctx, h, session)
}

func (h *Handle) ClearAsync(ctx context.Context, session string) <-chan error {
	return contract.GoroutineClear(ctx, h, session)
}

func (h *Handle) LoadVersion(ctx context.Context, session string) (ms []contract.Message, version string, err error) {
	if lost := h.call(ctx, func() { ms, version, err = h.server.load(h.namespace, session) }); lost != nil {
		return nil, "", lost // what arrived too late has not arrived
	}
	return ms, version, err
}

// Corrupt makes the second message of the session unreadable.
func (h *Handle) Corrupt(_ context.Context, session string) error {
	return h.server.corrupt(h.namespace, session)
}

func (h *Handle) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, _, err := h.LoadVersion(ctx, session)
	return ms, err
}

func (h *Handle) LoadLast(ctx context.Context, session string, n int) ([]contract.Message, error) {
	ms, err := h.Load(ctx, session)
	return ms[max(0, len(ms)-n):], err
}

func (h *Handle) Clear(ctx context.Context, session string) error { return h.Trim(ctx, session, 0) }

func (h *Handle) Trim(ctx context.Context, session string, keep int) error {
	return h.call(ctx, func() { h.server.keep(h.namespace, session, keep) })
}

// Retain implements contract.Retainer.
func (h *Handle) Retain(ctx context.Context, session string, keep int) error {
	return h.call(ctx, func() { h.server.retain(h.namespace, session, keep) })
}

func (h *Handle) Pop(ctx context.Context, session string) (m contract.Message, ok bool, err error) {
	if lost := h.call(ctx, func() { m, ok, err = h.server.pop(h.namespace, session) }); lost != nil {
		return m, ok, lost
	}
	return m, ok, err
}

func (h *Handle) Delete(ctx context.Context, session string) error {
	return h.call(ctx, func() { h.server.remove(h.namespace, session) })
}

func (h *Handle) Sessions(ctx context.Context, prefix string) (keys []string, err error) {
	err = h.call(ctx, func() { keys = h.server.list(h.namespace, prefix) })
	return keys, err
}

func (h *Handle) Namespace(_ context.Context, name string) (contract.Store, error) {
	return &Handle{server: h.server, namespace: name, line: h.line}, nil
}

func (h *Handle) Close() error { return nil }
