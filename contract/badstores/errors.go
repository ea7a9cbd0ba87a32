package badstores

import (
	"context"
	"errors"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

type quietLoad struct{ *memory.Handle }

func swallowsLoad(h *memory.Handle) contract.Store { return quietLoad{h} }

func (s quietLoad) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, err := s.Handle.Load(ctx, session)
	if err != nil {
		return nil, nil // "no history yet"
	}
	return ms, nil
}

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
