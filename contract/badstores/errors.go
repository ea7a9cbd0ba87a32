package badstores

import (
	"context"
	"errors"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// errorDefects are what is made of errors.
var errorDefects = []Bad{
	{Name: "swallows-errors", Caught: "faults/load-cut", Also: []string{"faults/load-error-answer", "faults/flapping"},
		Defect: "a load that failed is an empty history", build: eachHandle(swallowsLoad)},
	{Name: "false-success", Caught: "faults/save-cut-before",
		Also:   []string{"faults/save-error-answer", "retry/request-lost"},
		Defect: "a save that failed is logged and reported as done", build: eachHandle(swallowsSave)},
	{Name: "drops-ids", Caught: "retry/same-ids", Also: []string{"retry/reply-lost"},
		Defect: "ids are dropped, so that a retry doubles the turn", build: eachHandle(dropsIDs)},
	{Name: "hidden-retry", Caught: "faults/hidden-retries",
		Defect: "the client library sends again by itself, without ids", build: eachHandle(hiddenRetry)},
	{Name: "unreadable-is-empty", Caught: "faults/unreadable-row",
		Defect: "a history with a row that cannot be read is empty", build: eachHandle(unreadable(none))},
	{Name: "skips-unreadable", Caught: "faults/unreadable-row",
		Defect: "rows that cannot be read are left out", build: eachHandle(unreadable(others))},
}

type quietLoad struct{ *memory.Handle }

func swallowsLoad(h *memory.Handle) contract.Store { return quietLoad{h} }

func (s quietLoad) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, err := s.Handle.Load(ctx, session)
	if err != nil {
		return nil, nil // "no history yet"
	}
	return ms, nil
}

// guessing makes what it can of an error in a row.
type guessing struct {
	*memory.Handle
	keep func(rest []contract.Message) []contract.Message
}

func unreadable(keep func([]contract.Message) []contract.Message) wrapper {
	return func(h *memory.Handle) contract.Store { return guessing{h, keep} }
}

func (s guessing) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, err := s.Handle.Load(ctx, session)
	if e := (*memory.UnreadableError)(nil); errors.As(err, &e) {
		return s.keep(e.Rest), nil
	}
	return ms, err
}

func none([]contract.Message) []contract.Message      { return nil }
func others(ms []contract.Message) []contract.Message { return ms }

type quietSave struct{ *memory.Handle }

func swallowsSave(h *memory.Handle) contract.Store { return quietSave{h} }

func (s quietSave) Add(ctx context.Context, session string, turn ...contract.Message) error {
	err := s.Handle.Add(ctx, session, turn...)
	if errors.Is(err, contract.ErrRefused) || errors.Is(err, contract.ErrConflict) {
		return err
	}
	return nil // "logged"
}

type withoutIDs struct{ *memory.Handle }

func dropsIDs(h *memory.Handle) contract.Store { return withoutIDs{h} }

func (s withoutIDs) Add(ctx context.Context, session string, turn ...contract.Message) error {
	return s.Handle.Add(ctx, session, anonymous(turn)...)
}

func anonymous(turn []contract.Message) []contract.Message {
	out := make([]contract.Message, len(turn))
	copy(out, turn)
	for i := range out {
		out[i].ID = ""
	}
	return out
}

// resending is a client library whose default it is to try everything again.
type resending struct{ *memory.Handle }

func hiddenRetry(h *memory.Handle) contract.Store { return resending{h} }

func (s resending) Add(ctx context.Context, session string, turn ...contract.Message) error {
	err := s.Handle.Add(ctx, session, anonymous(turn)...)
	if err != nil && !errors.Is(err, contract.ErrRefused) && ctx.Err() == nil {
		err = s.Handle.Add(ctx, session, anonymous(turn)...)
	}
	return err
}
