package target

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/turnlog/turnlog/contract"
)

// execStore is a handle on a store behind an adapter.
type execStore struct {
	p   *process
	own bool // the process serves this handle only
}

func (s *execStore) Supports(c contract.Capability) bool {
	return c != contract.CanNamespace && slices.Contains(s.p.hello.Can, string(c))
}

func (s *execStore) Add(ctx context.Context, session string, turn ...contract.Message) error {
	r := on("add", session)
	r.Turn = toWire(turn)
	_, err := s.p.call(ctx, r)
	return err
}

func (s *execStore) AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...contract.Message) error {
	r := on("add", session)
	r.Turn, r.TTL = toWire(turn), ttl.Milliseconds()
	_, err := s.p.call(ctx, r)
	return err
}

func (s *execStore) AddIf(ctx context.Context, session, version string, turn ...contract.Message) error {
	r := on("add", session)
	r.Turn, r.Version = toWire(turn), version
	_, err := s.p.call(ctx, r)
	return err
}

func (s *execStore) AddWith(
	ctx context.Context, session string, metadata map[string]string, mustExist bool, turn ...contract.Message,
) error {
	r := on("add", session)
	r.Turn, r.WithMetadata, r.Metadata, r.MustExist = toWire(turn), true, metadata, mustExist
	_, err := s.p.call(ctx, r)
	return err
}

func (s *execStore) LoadWith(ctx context.Context, session string) ([]contract.Message, map[string]string, error) {
	r := on("load", session)
	r.WithMetadata = true
	reply, err := s.p.call(ctx, r)
	return fromWire(reply.Messages), reply.Metadata, err
}

func (s *execStore) Labelled(ctx context.Context, name, value string) ([]string, error) {
	reply, err := s.p.call(ctx, wireRequest{Op: "labelled", Label: name, Value: value})
	return reply.Sessions, err
}

func (s *execStore) AddAsync(ctx context.Context, session string, turn ...contract.Message) <-chan error {
	r := on("add", session)
	r.Turn, r.Async = toWire(turn), true
	done := make(chan error, 1)
	go func() {
		_, err := s.p.call(ctx, r)
		done <- err
	}()
	return done
}

func (s *execStore) LoadAsync(ctx context.Context, session string) <-chan contract.Loaded {
	r := on("load", session)
	r.Async = true
	done := make(chan contract.Loaded, 1)
	go func() {
		ms, _, err := s.load(ctx, r)
		done <- contract.Loaded{Messages: ms, Err: err}
	}()
	return done
}

func (s *execStore) ClearAsync(ctx context.Context, session string) <-chan error {
	r := on("clear", session)
	r.Async = true
	done := make(chan error, 1)
	go func() {
		_, err := s.p.call(ctx, r)
		done <- err
	}()
	return done
}

func (s *execStore) Corrupt(ctx context.Context, session string) error {
	_, err := s.p.call(ctx, on("corrupt", session))
	return err
}

func (s *execStore) load(ctx context.Context, r wireRequest) ([]contract.Message, string, error) {
	reply, err := s.p.call(ctx, r)
	if err != nil {
		return nil, "", err
	}
	return fromWire(reply.Messages), reply.Version, nil
}

func (s *execStore) LoadVersion(ctx context.Context, session string) ([]contract.Message, string, error) {
	return s.load(ctx, on("load", session))
}

func (s *execStore) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, _, err := s.load(ctx, on("load", session))
	return ms, err
}

func (s *execStore) LoadLast(ctx context.Context, session string, n int) ([]contract.Message, error) {
	r := on("load", session)
	r.Last = n
	ms, _, err := s.load(ctx, r)
	return ms, err
}

func (s *execStore) Clear(ctx context.Context, session string) error {
	_, err := s.p.call(ctx, on("clear", session))
	return err
}

func (s *execStore) Delete(ctx context.Context, session string) error {
	_, err := s.p.call(ctx, on("delete", session))
	return err
}

func (s *execStore) Trim(ctx context.Context, session string, keep int) error {
	r := on("trim", session)
	r.Keep = &keep
	_, err := s.p.call(ctx, r)
	return err
}

func (s *execStore) Retain(ctx context.Context, session string, keep int) error {
	r := on("retain", session)
	r.Keep = &keep
	_, err := s.p.call(ctx, r)
	return err
}

func (s *execStore) Pop(ctx context.Context, session string) (contract.Message, bool, error) {
	ms, _, err := s.load(ctx, on("pop", session))
	if err != nil || len(ms) == 0 {
		return contract.Message{}, false, err
	}
	return ms[0], true, nil
}

func (s *execStore) Sessions(ctx context.Context, prefix string) ([]string, error) {
	reply, err := s.p.call(ctx, wireRequest{Op: "list", Prefix: prefix})
	return reply.Sessions, err
}

func (s *execStore) Namespace(context.Context, string) (contract.Store, error) {
	return nil, errors.ErrUnsupported
}

func (s *execStore) Close() error {
	if s.own {
		s.p.end(false)
	}
	return nil
}
