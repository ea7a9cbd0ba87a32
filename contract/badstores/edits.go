package badstores

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// editDefects are what goes wrong where single messages are changed.
var editDefects = []Bad{
	{Name: "edits-at-the-end", Caught: "sequential/edit",
		Defect: "an edited message moves to the end", build: eachHandle(editsAtTheEnd)},
	{Name: "edits-make-messages", Caught: "sequential/edit",
		Defect: "the edit of a message that is not there saves it", build: eachHandle(editsMakeMessages)},
	{Name: "removes-the-rest", Caught: "sequential/remove",
		Defect: "a removal takes what came after the message, too", build: eachHandle(removesTheRest)},
	{Name: "retries-undo-edits", Caught: "retry/retry-after-edit",
		Defect: "a turn that is sent again has its first content again", build: eachHandle(retriesUndo)},
}

type movesEdited struct{ *memory.Handle }

func editsAtTheEnd(h *memory.Handle) contract.Store { return movesEdited{h} }

func (s movesEdited) Edit(ctx context.Context, session, id string, m contract.Message) error {
	if err := s.Handle.Edit(ctx, session, id, m); err != nil {
		return err
	}
	if err := s.Remove(ctx, session, id); err != nil {
		return err
	}
	m.ID = "" // it is known by it already
	return s.Add(ctx, session, m)
}

type savesEdited struct{ *memory.Handle }

func editsMakeMessages(h *memory.Handle) contract.Store { return savesEdited{h} }

func (s savesEdited) Edit(ctx context.Context, session, id string, m contract.Message) error {
	if s.Handle.Edit(ctx, session, id, m) == nil {
		return nil
	}
	return s.Add(ctx, session, m)
}

type cutsOff struct{ *memory.Handle }

func removesTheRest(h *memory.Handle) contract.Store { return cutsOff{h} }

func (s cutsOff) Remove(ctx context.Context, session, id string) error {
	ms, err := s.Load(ctx, session)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(ms, func(m contract.Message) bool { return m.ID == id })
	if at < 0 {
		return nil
	}
	for _, m := range ms[at:] {
		if err := s.Handle.Remove(ctx, session, m.ID); err != nil {
			return err
		}
	}
	return nil
}

type restores struct{ *memory.Handle }

func retriesUndo(h *memory.Handle) contract.Store { return restores{h} }

func (s restores) Add(ctx context.Context, session string, turn ...contract.Message) error {
	if err := s.Handle.Add(ctx, session, turn...); err != nil {
		return err
	}
	for _, m := range turn {
		if m.ID == "" {
			continue
		}
		if err := s.Edit(ctx, session, m.ID, m); err != nil {
			continue // it was removed
		}
	}
	return nil
}
