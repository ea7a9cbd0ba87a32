package badstores

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"time"

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

// firstTTL sets the time to live when it creates a session, and never again.
type firstTTL struct {
	*memory.Handle
	mu   *sync.Mutex
	ends map[string]time.Time
}

func ttlNotRefreshed() func(*memory.Handle) contract.Store {
	mu, ends := new(sync.Mutex), map[string]time.Time{}
	return func(h *memory.Handle) contract.Store { return &firstTTL{h, mu, ends} }
}

func (s *firstTTL) AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...contract.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	end, ok := s.ends[session]
	if left := time.Until(end); ok && left > 0 {
		ttl = left
	} else {
		s.ends[session] = time.Now().Add(ttl)
	}
	return s.Handle.AddTTL(ctx, session, ttl, turn...)
}

type roundedTTL struct{ *memory.Handle }

func ttlEarly(h *memory.Handle) contract.Store { return roundedTTL{h} }

func (s roundedTTL) AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...contract.Message) error {
	return s.Handle.AddTTL(ctx, session, ttl/2, turn...)
}

// folded takes keys for one another.
type folded struct{ *memory.Handle }

func foldsKeys(h *memory.Handle) contract.Store { return folded{h} }

func fold(key string) string { return strings.ToLower(strings.TrimSpace(key)) }

func (s folded) Add(ctx context.Context, session string, turn ...contract.Message) error {
	return s.Handle.Add(ctx, fold(session), turn...)
}

func (s folded) Load(ctx context.Context, session string) ([]contract.Message, error) {
	return s.Handle.Load(ctx, fold(session))
}

func (s folded) Clear(ctx context.Context, session string) error {
	return s.Handle.Clear(ctx, fold(session))
}

type globbing struct{ *memory.Handle }

func patternClear(h *memory.Handle) contract.Store { return globbing{h} }

func (s globbing) Clear(ctx context.Context, session string) error {
	keys, err := s.Sessions(ctx, "")
	for _, key := range keys {
		if match, _ := path.Match(session, key); match || key == session {
			err = errors.Join(err, s.Handle.Clear(ctx, key))
		}
	}
	return err
}
