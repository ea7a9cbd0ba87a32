package answers

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/turnlog/turnlog/turn"
)

// budgetWait is how long an answer waits for memory: less than a node waits for a leader's answer.
const budgetWait = 2 * time.Second

// Small is up to how many bytes an answer is not charged to anything.
const Small = 16 << 10

// Budget bounds the memory of the answers that a node makes for other nodes: together they have three times the payload
// of the longest one. Those for which nothing is left wait in their order, for a bounded time. Any goroutine may use
// it.
type Budget struct {
	limits turn.Limits
	most   int64
	left   *semaphore.Weighted
}

// NewBudget returns the Budget of a node with these limits.
func NewBudget(l turn.Limits) *Budget {
	most := 3 * int64(l.ReadBytes)
	return &Budget{limits: l, most: most, left: semaphore.NewWeighted(most)}
}

// In returns a context in which one answer at a time is charged to the budget, until leave is called. Both are for one
// goroutine.
func (b *Budget) In(ctx context.Context) (in context.Context, leave func()) {
	s := &share{budget: b}
	return With(ctx, s), func() { s.keep(0) }
}

// share is what the answers of one request hold of a Budget. It implements Account.
type share struct {
	budget *Budget
	held   int64
}

// keep gives back what is held beyond n bytes.
func (s *share) keep(n int64) {
	if n < s.held {
		s.budget.left.Release(s.held - n)
		s.held = n
	}
}

// Begin implements Account: it takes as much as the answer could have at most, and if that is not left, as much as what
// the query asks about has.
func (s *share) Begin(ctx context.Context, q turn.Query, ask func(turn.Query) (turn.Result, error)) error {
	s.keep(0)
	b := s.budget
	most := min(Most(q, b.limits), b.most)
	if most <= Small {
		return nil
	}
	if b.left.TryAcquire(most) {
		s.held = most
		return nil
	}
	n := min(Foreseen(q, most, ask), b.most)
	if n <= Small {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, budgetWait)
	defer cancel()
	if err := b.left.Acquire(waiting, n); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return turn.Errorf(turn.Overloaded, "answers to other nodes take up the memory that the leader has for them; "+
			"ask for less, or try again")
	}
	s.held = n
	return nil
}

// Made implements Account.
func (s *share) Made(n int64) { s.keep(n) }

// Kept implements Account: other nodes keep what they want of an answer by themselves.
func (s *share) Kept(int) {}
