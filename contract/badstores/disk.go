package badstores

import (
	"context"
	"errors"
	"sync"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// journal is what survives a restart: turns, in the order in which they were saved.
type journal struct {
	mu    sync.Mutex
	turns []journaledTurn
}

type journaledTurn struct {
	session  string
	messages []contract.Message
}

type journaled struct {
	*memory.Handle
	journal *journal
}

func forgetsClears(server *memory.Server) (wrap func(*memory.Handle) contract.Store, restart func(context.Context) error) {
	j := &journal{}
	wrap = func(h *memory.Handle) contract.Store { return journaled{h, j} }
	restart = func(ctx context.Context) error {
		server.Forget()
		return j.replay(ctx, server.Open())
	}
	return wrap, restart
}

func (s journaled) Add(ctx context.Context, session string, turn ...contract.Message) error {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	s.journal.turns = append(s.journal.turns, journaledTurn{session, turn})
	return s.Handle.Add(ctx, session, turn...)
}

func (j *journal) replay(ctx context.Context, to *memory.Handle) (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, t := range j.turns {
		err = errors.Join(err, to.Add(ctx, t.session, t.messages...))
	}
	return err
}
