package target

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/proxy"
	"github.com/turnlog/turnlog/turn"
)

func openTurnlog(t *Target, u *url.URL) error {
	params, err := take(u, "namespace")
	if err != nil {
		return err
	}
	dialTurnlog(t, strings.Split(u.Host, ","), params["namespace"])
	return nil
}

// dialTurnlog makes t a cluster with nodes at these addresses. Handles take turns
// in which node they prefer; other processes begin elsewhere.
func dialTurnlog(t *Target, addrs []string, namespace string) {
	var turns atomic.Int64
	turns.Store(int64(os.Getpid()))
	open := func(addrs []string) (contract.Store, error) {
		return openTurnlogStore(namespace, func(namespace string) (*client.Client, error) {
			return client.New(client.Config{Addrs: addrs, Namespace: namespace})
		})
	}
	t.Open = func(context.Context) (contract.Store, error) {
		first := int(turns.Add(1)) % len(addrs)
		return open(slices.Concat(addrs[first:], addrs[:first]))
	}
	t.Claims = turnlogClaims()
	t.Line = behind(proxy.Turnlog{},
		func(_ context.Context, addr string) (contract.Store, error) { return open([]string{addr}) }, addrs...)
}

// Clients returns the target that clients reach, such as those of a node in this process. Each
// handle closes its Client.
func Clients(namespace string, open func(namespace string) (*client.Client, error)) contract.Target {
	return contract.Target{Claims: turnlogClaims(),
		Open: func(context.Context) (contract.Store, error) { return openTurnlogStore(namespace, open) }}
}

// turnlogClaims are what a turnlog with the default limits promises.
func turnlogClaims() contract.Claims {
	return contract.Claims{IDs: true, LateIDs: true, Linearizable: true, Bytes: true,
		MaxBytes: turn.DefaultLimits().MessageBytes}
}

// turnlogStore is a contract.Store with every optional interface.
type turnlogStore struct {
	c    *client.Client
	open func(namespace string) (*client.Client, error)
}

func openTurnlogStore(namespace string, open func(namespace string) (*client.Client, error)) (contract.Store, error) {
	c, err := open(namespace)
	if err != nil {
		return nil, err
	}
	return &turnlogStore{c: c, open: open}, nil
}

// kinds translates what the error of a call means for the caller.
var kinds = map[turn.Kind]error{
	turn.Conflict:    contract.ErrConflict,
	turn.IDReused:    contract.ErrConflict,
	turn.Invalid:     contract.ErrRefused,
	turn.TooLarge:    contract.ErrRefused,
	turn.Internal:    contract.ErrNotApplied,
	turn.Overloaded:  contract.ErrNotApplied,
	turn.Unavailable: contract.ErrNotApplied,
	turn.ReadOnly:    contract.ErrNotApplied,
}

func translate(err error) error {
	if err == nil {
		return nil
	}
	if meaning, ok := kinds[turn.KindOf(err)]; ok {
		return fmt.Errorf("%w: %w", meaning, err)
	}
	return err
}

func newMessages(ms []contract.Message) []turn.NewMessage {
	out := make([]turn.NewMessage, len(ms))
	for i, m := range ms {
		out[i] = turn.NewMessage{ID: m.ID, Data: m.Encode()}
	}
	return out
}

func messages(ms []turn.Message) []contract.Message {
	out := make([]contract.Message, len(ms))
	for i, m := range ms {
		out[i] = contract.Decode(m.Data)
		out[i].ID = m.ID
	}
	return out
}

func appendTo(ctx context.Context, s client.Session, ms []contract.Message) error {
	_, err := s.Append(ctx, newMessages(ms)...)
	return translate(err)
}

func (s *turnlogStore) Add(ctx context.Context, session string, ms ...contract.Message) error {
	return appendTo(ctx, s.c.Session(session), ms)
}

func (s *turnlogStore) AddTTL(ctx context.Context, session string, ttl time.Duration, ms ...contract.Message) error {
	return appendTo(ctx, s.c.Session(session).TTL(ttl), ms)
}

func (s *turnlogStore) AddIf(ctx context.Context, session, version string, ms ...contract.Message) error {
	revision, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return err
	}
	return appendTo(ctx, s.c.Session(session).Expect(revision), ms)
}

func (s *turnlogStore) AddAsync(ctx context.Context, session string, ms ...contract.Message) <-chan error {
	return contract.Goroutine(ctx, s, session, ms...)
}

func (s *turnlogStore) LoadAsync(ctx context.Context, session string) <-chan contract.Loaded {
	return contract.GoroutineLoad(ctx, s, session)
}

func (s *turnlogStore) ClearAsync(ctx context.Context, session string) <-chan error {
	return contract.GoroutineClear(ctx, s, session)
}

// LoadVersion reads in one answer, or if that is too long for one, in several of
// the same revision.
func (s *turnlogStore) LoadVersion(ctx context.Context, session string) ([]contract.Message, string, error) {
	for {
		var all []turn.Message
		first, err := s.page(ctx, session, 0)
		h := first
		for err == nil && h.Revision == first.Revision {
			all = append(all, h.Messages...)
			if !h.More {
				return messages(all), strconv.FormatUint(h.Revision, 10), nil
			}
			h, err = s.page(ctx, session, all[len(all)-1].Seq)
		}
		if err != nil {
			return nil, "", translate(err)
		}
	}
}

func (s *turnlogStore) page(ctx context.Context, session string, after uint64) (client.History, error) {
	return s.c.Session(session).Read(ctx, turn.Read{From: turn.FromAfter, Seq: after})
}

func (s *turnlogStore) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, _, err := s.LoadVersion(ctx, session)
	return ms, err
}

func (s *turnlogStore) LoadLast(ctx context.Context, session string, n int) ([]contract.Message, error) {
	h, err := s.c.Session(session).Last(ctx, n)
	return messages(h.Messages), translate(err)
}

// absent is no error where something is to be removed.
func absent(err error) error {
	if e := (*turn.Error)(nil); errors.As(err, &e) && e.Kind == turn.NotFound {
		return nil
	}
	return translate(err)
}

func (s *turnlogStore) Clear(ctx context.Context, session string) error {
	_, err := s.c.Session(session).Clear(ctx)
	return absent(err)
}

func (s *turnlogStore) Delete(ctx context.Context, session string) error {
	_, err := s.c.Session(session).Delete(ctx)
	return absent(err)
}

func (s *turnlogStore) Trim(ctx context.Context, session string, keep int) error {
	_, err := s.c.Session(session).TrimKeep(ctx, uint64(keep))
	return absent(err)
}

func (s *turnlogStore) Pop(ctx context.Context, session string) (contract.Message, bool, error) {
	ms, err := s.c.Session(session).Pop(ctx, 1, turn.Newest)
	if err != nil || len(ms) == 0 {
		return contract.Message{}, false, absent(err)
	}
	return messages(ms)[0], true, nil
}

func (s *turnlogStore) Sessions(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	for ss, err := range s.c.Sessions(ctx, prefix) {
		if err != nil {
			return nil, translate(err)
		}
		if ss.Count > 0 {
			keys = append(keys, ss.Key.Name)
		}
	}
	return keys, nil
}

func (s *turnlogStore) Namespace(_ context.Context, name string) (contract.Store, error) {
	return openTurnlogStore(name, s.open)
}

func (s *turnlogStore) Close() error { return s.c.Close() }
