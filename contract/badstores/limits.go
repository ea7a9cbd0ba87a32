package badstores

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// cutOff is a store behind an interface with pages, of which it asks for the first.
type cutOff struct {
	*memory.Handle
	load, turn, list int // 0: no limit
}

func limited(load, turn, list int) func(*memory.Handle) contract.Store {
	return func(h *memory.Handle) contract.Store { return cutOff{h, load, turn, list} }
}

func firstOf[T any](all []T, limit int) []T {
	if limit == 0 {
		return all
	}
	return all[:min(len(all), limit)]
}

func (s cutOff) Add(ctx context.Context, session string, turn ...contract.Message) error {
	return s.Handle.Add(ctx, session, firstOf(turn, s.turn)...)
}

func (s cutOff) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, err := s.Handle.Load(ctx, session)
	return firstOf(ms, s.load), err
}

func (s cutOff) Sessions(ctx context.Context, prefix string) ([]string, error) {
	keys, err := s.Handle.Sessions(ctx, prefix)
	slices.Sort(keys)
	return firstOf(keys, s.list), err
}
