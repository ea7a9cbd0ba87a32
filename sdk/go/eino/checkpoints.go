package eino

import (
	"context"
	"time"

	"github.com/cloudwego/eino/compose"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

// CheckPointConfig is what CheckPoints are like. The zero value keeps the newest state under each id
// for ever.
type CheckPointConfig struct {
	// Prefix begins the keys in turnlog, and the id of the checkpoint follows; default
	// "eino:checkpoint:", so that a checkpoint and a conversation may have the same id.
	Prefix string
	// Keep is how many states are kept under an id, the newest included, as messages of the turnlog
	// session; 0: one.
	Keep int
	// TTL deletes a checkpoint that long after it was last saved; 0: never.
	TTL time.Duration
	// Conditional makes Set a turn.Conflict if the checkpoint has changed since these CheckPoints last
	// read or saved it, and also if they have not read one that exists: of two processes that resume the
	// same run, one finds out. They then remember each id that they saw: make them for each request.
	Conditional bool
}

// CheckPoints is a compose.CheckPointStore. Its methods may be called by any goroutine.
type CheckPoints struct {
	client *client.Client
	cfg    CheckPointConfig
	seen   revisions
}

var _ compose.CheckPointStore = (*CheckPoints)(nil)

// NewCheckPoints returns a store of checkpoints. It sends nothing.
func NewCheckPoints(c *client.Client, cfg CheckPointConfig) *CheckPoints {
	if cfg.Prefix == "" {
		cfg.Prefix = "eino:checkpoint:"
	}
	return &CheckPoints{client: c, cfg: cfg, seen: newRevisions(cfg.Conditional)}
}

// Get implements compose.CheckPointStore: the newest state saved under the id.
func (s *CheckPoints) Get(ctx context.Context, id string) (state []byte, ok bool, err error) {
	h, err := s.client.Session(s.cfg.Prefix+id).Last(ctx, 1)
	if err != nil {
		return nil, false, err
	}
	s.seen.saw(id, h.Revision)
	if len(h.Messages) == 0 {
		return nil, false, nil
	}
	return h.Messages[0].Data, true, nil
}

// Set implements compose.CheckPointStore: it replaces the state, whose length is bounded by that of a
// message.
func (s *CheckPoints) Set(ctx context.Context, id string, state []byte) error {
	key := s.cfg.Prefix + id
	tx := s.client.Transaction()
	if s.cfg.Conditional {
		revision, _ := s.seen.of(id)
		tx.IfRevision(key, revision)
	}
	tx.Append(key, turn.NewMessage{Data: state}).TrimKeep(key, uint64(max(s.cfg.Keep, 1)))
	if s.cfg.TTL > 0 {
		tx.Expire(key, s.cfg.TTL, false)
	}
	r, err := tx.Commit(ctx)
	if err != nil {
		return err
	}
	s.seen.saw(id, r.Revision) // of the namespace's last change, which is the checkpoint's
	return nil
}

// Delete removes a checkpoint, as when the run has ended. It is not an error if there is none. Newer
// versions of Eino call it.
func (s *CheckPoints) Delete(ctx context.Context, id string) error {
	if _, err := s.client.Session(s.cfg.Prefix + id).Delete(ctx); err != nil {
		return err
	}
	s.seen.saw(id, 0)
	return nil
}
