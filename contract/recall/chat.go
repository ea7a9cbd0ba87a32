package recall

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/contract"
)

const (
	callTime  = 5 * time.Second // for one call of the store
	retryTime = 20 * time.Millisecond
)

// chat is one conversation between a user and an agent that keeps nothing itself.
type chat struct {
	target  *contract.Target
	session string
	facts   []fact
	store   contract.Store // nil: opened when needed
	turns   int

	retryFor   time.Duration // with a store that fails and is not restarting
	restarting *atomic.Bool
}

func (c *chat) end() {
	if c.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	c.store.Clear(ctx, c.session) // what remains disturbs nothing
	c.store.Close()
}

// tell says facts. told, if set, counts them.
func (c *chat) tell(ctx context.Context, fs []fact, told interface{ Add(int64) int64 }) error {
	for _, f := range fs {
		if _, err := c.say(ctx, f.statement()); err != nil {
			return err
		}
		if told != nil {
			told.Add(1)
		}
	}
	return nil
}

// ask asks for the latest value of everything in fs.
func (c *chat) ask(ctx context.Context, fs []fact, score *tally) error {
	for _, f := range latest(fs) {
		answer, err := c.say(ctx, f.question())
		score.count(err == nil && answer == f.answer())
		if err != nil {
			return err
		}
	}
	return nil
}

// say is a turn: the agent loads what was said, answers out of that alone, and
// saves both messages as one. It returns the answer that was saved. What fails is tried
// again: for as long as a restart takes, and then for retryFor.
func (c *chat) say(ctx context.Context, text string) (string, error) {
	c.turns++
	var failing time.Time // since then, if it is set
	for {
		answer, err := c.attempt(ctx, text)
		if err == nil {
			return answer, nil
		}
		if c.store != nil {
			c.store.Close() // it may be broken
			c.store = nil
		}
		switch {
		case c.restarting.Load():
			failing = time.Time{}
		case failing.IsZero():
			failing = time.Now()
		case time.Since(failing) > c.retryFor:
			return "", err
		}
		select {
		case <-time.After(retryTime):
		case <-ctx.Done():
			return "", errors.Join(ctx.Err(), err)
		}
	}
}

func (c *chat) attempt(ctx context.Context, text string) (string, error) {
	if c.store == nil {
		s, err := c.target.Open(ctx) // may start an interpreter, which takes as long as it takes
		if err != nil {
			return "", err
		}
		c.store = s
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	history, err := c.store.Load(ctx, c.session)
	if err != nil {
		return "", err
	}
	// An earlier attempt may have been saved, although the store did not say so.
	if n := len(history); n >= 2 && history[n-2].Content == c.numbered(text) {
		return history[n-1].Content, nil
	}
	answer := model(history, text)
	return answer, c.store.Add(ctx, c.session,
		contract.Message{ID: fmt.Sprintf("%s-%d-u", c.session, c.turns), Role: "user", Content: c.numbered(text)},
		contract.Message{ID: fmt.Sprintf("%s-%d-a", c.session, c.turns), Role: "assistant", Content: answer})
}

// numbered tells a sentence from the same one said before.
func (c *chat) numbered(text string) string { return fmt.Sprintf("%d. %s", c.turns, text) }
