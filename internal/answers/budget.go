package answers

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/turnlog/turnlog/turn"
)

// budgetWait is how long an answer waits for memory at most.
const budgetWait = 2 * time.Second

// mostWaiting is how many answers may wait for memory. Each keeps one of the handlers of a connection between nodes, of
// which there are 256: the others are for what does not wait, as read indexes.
const mostWaiting = 32

// Small is up to how many bytes an answer is not charged to anything.
const Small = 16 << 10

// Budget bounds the memory of the answers that a node makes for other nodes: all together take three times
// turn.Limits.ReadBytes. If that is spent, up to mostWaiting answers wait, in their order, for a bounded time, and
// others fail at once. Any goroutine may use it.
type Budget struct {
	limits  turn.Limits
	most    int64
	left    *semaphore.Weighted
	wait    time.Duration
	waiting atomic.Int32
}

// NewBudget returns the Budget of a node with these limits, of which other nodes await answers for so long.
func NewBudget(l turn.Limits, awaited time.Duration) *Budget {
	most := 3 * int64(l.ReadBytes)
	return &Budget{limits: l, most: most, left: semaphore.NewWeighted(most), wait: min(budgetWait, inTime(awaited))}
}

// inTime is how long an answer may wait that is awaited for d, so that the other node hears why there is none.
func inTime(d time.Duration) time.Duration { return d / 5 * 4 }

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
	if err := b.acquire(ctx, n); err != nil {
		return err
	}
	s.held = n
	return nil
}

// acquire waits for n bytes.
func (b *Budget) acquire(ctx context.Context, n int64) error {
	defer b.waiting.Add(-1)
	if b.waiting.Add(1) > mostWaiting {
		return errSpent()
	}
	wait := b.wait
	if until, ok := ctx.Deadline(); ok {
		wait = min(wait, inTime(time.Until(until)))
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if b.left.Acquire(waiting, n) == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errSpent()
}

func errSpent() *turn.Error {
	return turn.Errorf(turn.Overloaded, "answers to other nodes take up the memory that this node has for them; "+
		"ask for less, or try again")
}

// Made implements Account.
func (s *share) Made(n int64) { s.keep(n) }

// Kept implements Account: other nodes keep what they want of an answer by themselves.
func (s *share) Kept(int) {}
