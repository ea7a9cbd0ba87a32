// Package recall measures what an agent still knows after its store was restarted:
// conversations in which a user tells facts, a restart in the middle of them, and
// questions. The model that answers is deterministic and knows nothing but what was
// loaded, so that only the store decides the score.
package recall

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/contract"
)

// Script says how much is talked about. The zero value of a field is its default.
type Script struct {
	Target        contract.Target
	Seed          uint64
	Conversations int // held at the same time: 8
	Facts         int // told in each, the last few of them corrections: 12
	// Timeout bounds what is done for one kind of restart: 90 s.
	Timeout time.Duration
	// RetryFor is how long a call that fails is repeated while the store serves, before
	// the conversation is given up: 10 s.
	RetryFor time.Duration
	// Began, if set, is told of each kind.
	Began func(kind contract.Capability)
}

// Score is what was remembered around one kind of restart.
type Score struct {
	Kind   contract.Capability
	Before Accuracy
	After  Accuracy
	Err    error // the store did not come back, or not in time; After counts what was not asked as forgotten
}

// Accuracy counts questions.
type Accuracy struct{ Right, Asked int }

// Percent is 100 if all was remembered.
func (a Accuracy) Percent() float64 {
	if a.Asked == 0 {
		return 0
	}
	return 100 * float64(a.Right) / float64(a.Asked)
}

// Run plays the script once for each way in which the target can be restarted.
func (s Script) Run(ctx context.Context) []Score {
	if s.Conversations <= 0 {
		s.Conversations = 8
	}
	if s.Facts <= 0 {
		s.Facts = 12
	}
	if s.Timeout <= 0 {
		s.Timeout = 90 * time.Second
	}
	if s.RetryFor <= 0 {
		s.RetryFor = 10 * time.Second
	}
	var scores []Score
	for i, r := range s.Target.Restarts {
		if ctx.Err() != nil {
			break
		}
		if s.Began != nil {
			s.Began(r.Kind)
		}
		scores = append(scores, s.play(ctx, r, rand.Uint64N(1<<40)+uint64(i)))
	}
	return scores
}

// play holds all conversations: half of the facts, questions, the other half with
// the restart among them, and questions again.
func (s *Script) play(ctx context.Context, r contract.Restart, run uint64) Score {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	var before, after tally
	var restarting atomic.Bool
	chats := s.chats(run, &restarting)
	defer func() {
		for _, c := range chats {
			c.end()
		}
	}()
	half := s.Facts / 2
	err := each(chats, func(c *chat) error { return c.tell(ctx, c.facts[:half], nil) })
	if err == nil {
		err = each(chats, func(c *chat) error { return c.ask(ctx, c.facts[:half], &before) })
	}
	var told atomic.Int64
	restarted := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		waitFor(&told, int64(s.Conversations*(s.Facts-half)/3), stop)
		restarting.Store(true)
		err := r.Do(ctx)
		restarting.Store(false)
		restarted <- err
	}()
	if err == nil {
		err = each(chats, func(c *chat) error { return c.tell(ctx, c.facts[half:], &told) })
	}
	close(stop)
	err = errors.Join(err, <-restarted)
	err = errors.Join(err, each(chats, func(c *chat) error { return c.ask(ctx, c.facts, &after) }))
	after.Asked = 0 // what could not be asked is forgotten
	for _, c := range chats {
		after.Asked += len(latest(c.facts))
	}
	return Score{Kind: r.Kind, Before: before.Accuracy, After: after.Accuracy, Err: err}
}

// chats returns the conversations of a run, before their first words.
func (s *Script) chats(run uint64, restarting *atomic.Bool) []*chat {
	chats := make([]*chat, s.Conversations)
	for i := range chats {
		random := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		chats[i] = &chat{target: &s.Target, session: fmt.Sprintf("contract-recall-%x-%d", run, i),
			facts:    facts(random, s.Facts),
			retryFor: s.RetryFor, restarting: restarting}
	}
	return chats
}

// waitFor returns when enough was told, or at the end of the telling.
func waitFor(told *atomic.Int64, enough int64, stop <-chan struct{}) {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for told.Load() < enough {
		select {
		case <-poll.C:
		case <-stop:
			return
		}
	}
}

// each calls f for all conversations at once.
func each(chats []*chat, f func(*chat) error) error {
	errs := make([]error, len(chats))
	var group sync.WaitGroup
	for i, c := range chats {
		group.Go(func() { errs[i] = f(c) })
	}
	group.Wait()
	return errors.Join(errs...)
}
