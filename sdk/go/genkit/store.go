// Package genkit keeps the sessions of Genkit in turnlog.
//
//	store := genkit.NewStore[Preferences](c, genkit.Config{Prefix: "genkit:", Conditional: true})
//	s, err := session.New(ctx, session.WithStore(store), session.WithID[Preferences]("alice"))
//	…
//	s, err = session.Load(ctx, store, "alice") // in a later request
//	…
//	err = s.UpdateState(ctx, preferences)
//
// A saved state is on a majority of the cluster's disks. Each call is tried again by the client, through
// elections and lost connections, and takes place once. Genkit's session package is experimental, and
// may change with any of its versions.
//
// Errors are, or wrap, *turn.Error, which says whether the state may have been saved.
package genkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/firebase/genkit/go/core/x/session"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

// Config is what a Store is like. The zero value keeps the newest state of each session for ever.
type Config struct {
	// Prefix begins the keys of the sessions in turnlog; the id of the session follows.
	Prefix string
	// Keep is how many states of a session are kept, the newest included, as messages of the turnlog session;
	// 0: one.
	Keep int
	// TTL deletes a session that long after its state was last saved; 0: never.
	TTL time.Duration
	// Conditional makes Save a turn.Conflict if the session has changed since this Store last read or
	// saved it, and also if this Store has not read a session that exists: so session.New does not
	// replace the state under an id that is taken, and of two requests that have loaded the same
	// state one finds out. The Store then remembers each session that it saw: make one for each request.
	Conditional bool
}

// Store is a session.Store. Its methods may be called by any goroutine.
type Store[S any] struct {
	client *client.Client
	cfg    Config

	mu   sync.Mutex
	seen map[string]uint64 // session id → its revision; nil unless conditional
}

// NewStore returns a store of sessions with states of type S. It sends nothing.
func NewStore[S any](c *client.Client, cfg Config) *Store[S] {
	s := &Store[S]{client: c, cfg: cfg}
	if cfg.Conditional {
		s.seen = make(map[string]uint64)
	}
	return s
}

// Get implements session.Store: nil if there is no such session.
func (s *Store[S]) Get(ctx context.Context, id string) (*session.Data[S], error) {
	h, err := s.client.Session(s.cfg.Prefix+id).Last(ctx, 1)
	if err != nil {
		return nil, err
	}
	var data *session.Data[S]
	for _, m := range h.Messages {
		if data, err = decode[S](m.Data); err != nil {
			return nil, fmt.Errorf("state of session %q: %w", id, err)
		}
	}
	s.saw(id, h.Revision)
	return data, nil
}

// decode returns what Save stored.
func decode[S any](text []byte) (*session.Data[S], error) {
	data := new(session.Data[S])
	if err := json.Unmarshal(text, data); err != nil {
		return nil, fmt.Errorf("it is no state of Genkit: %w", err)
	}
	var named struct {
		ID *string `json:"id"`
	}
	if json.Unmarshal(text, &named) != nil || named.ID == nil {
		return nil, errors.New("it is no state of Genkit: it has no id")
	}
	return data, nil
}

// Save implements session.Store: it replaces the state.
func (s *Store[S]) Save(ctx context.Context, id string, data *session.Data[S]) error {
	if data == nil {
		return turn.Errorf(turn.Invalid, "no state to save in session %q", id)
	}
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("state of session %q: %w", id, err)
	}
	key := s.cfg.Prefix + id
	tx := s.client.Transaction()
	if s.cfg.Conditional {
		tx.IfRevision(key, s.revision(id))
	}
	tx.Append(key, turn.NewMessage{Data: text}).TrimKeep(key, uint64(max(s.cfg.Keep, 1)))
	if s.cfg.TTL > 0 {
		tx.Expire(key, s.cfg.TTL, false)
	}
	r, err := tx.Commit(ctx)
	if err != nil {
		return err
	}
	s.saw(id, r.Revision) // of the namespace's last change, which is the session's
	return nil
}

// Delete removes a session and reports whether there was one.
func (s *Store[S]) Delete(ctx context.Context, id string) (bool, error) {
	existed, err := s.client.Session(s.cfg.Prefix + id).Delete(ctx)
	if err == nil {
		s.saw(id, 0)
	}
	return existed, err
}

// revision returns that of a session as it was last seen; 0: it was not there, or not looked for.
func (s *Store[S]) revision(id string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[id]
}

func (s *Store[S]) saw(id string, revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen != nil {
		s.seen[id] = revision
	}
}
