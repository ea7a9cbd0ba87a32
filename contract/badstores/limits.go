package badstores

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// limitDefects are what stops after so many.
var limitDefects = []Bad{
	{Name: "limit-1000", Caught: "edges/long-history",
		Defect: "loads stop after a thousand messages", build: eachHandle(limited(1000, 0, 0))},
	{Name: "limit-2000", Caught: "edges/long-history",
		Defect: "loads stop after two thousand messages", build: eachHandle(limited(2000, 0, 0))},
	{Name: "turn-128", Caught: "edges/large-turn",
		Defect: "a turn is cut after 128 messages", build: eachHandle(limited(0, 128, 0))},
	{Name: "list-100", Caught: "sequential/long-list",
		Defect: "a list of sessions stops after the first page, of a hundred", build: eachHandle(limited(0, 0, 100))},
}

// cutOff is a store behind an interface with pages, of which it asks for the first.
type cutOff struct {
	*memory.Handle
	load, turn, list int // 0: no limit
}

func limited(load, turn, list int) wrapper {
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
