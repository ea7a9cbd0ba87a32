package answers

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/turnlog/turnlog/turn"
)

// roomWait is how long an answer waits for room: less than a node waits for a leader's answer.
const roomWait = 2 * time.Second

// smallAnswer is up to how many bytes an answer needs no room.
const smallAnswer = 16 << 10

// Room bounds the memory of the answers that a node makes for other nodes: together they have three times the payload
// of the longest one. Those that find no room wait in their order, for a bounded time. Any goroutine may use it.
type Room struct {
	limits turn.Limits
	most   int64
	left   *semaphore.Weighted
}

// NewRoom returns the Room of a node with these limits.
func NewRoom(l turn.Limits) *Room {
	most := 3 * int64(l.ReadBytes)
	return &Room{limits: l, most: most, left: semaphore.NewWeighted(most)}
}

// In returns a context in which one answer at a time is charged to the room, until leave is called. Both are for one
// goroutine.
func (r *Room) In(ctx context.Context) (in context.Context, leave func()) {
	g := &guest{room: r}
	return With(ctx, g), func() { g.keep(0) }
}

// guest is what answers of one request have of a Room. It implements Account.
type guest struct {
	room *Room
	held int64
}

// keep gives back what is held beyond n bytes.
func (g *guest) keep(n int64) {
	if n < g.held {
		g.room.left.Release(g.held - n)
		g.held = n
	}
}

// Begin implements Account: it takes as much as the answer could have at most, and if that is not left, as much as what
// the query asks about has.
func (g *guest) Begin(ctx context.Context, q turn.Query, ask func(turn.Query) (turn.Result, error)) error {
	g.keep(0)
	r := g.room
	most := min(Most(q, r.limits), r.most)
	if most <= smallAnswer {
		return nil
	}
	if r.left.TryAcquire(most) {
		g.held = most
		return nil
	}
	n := min(Foreseen(q, most, ask), r.most)
	if n <= smallAnswer {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	if err := r.left.Acquire(waiting, n); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return turn.Errorf(turn.Overloaded, "answers to other nodes take up the memory that the leader has for them; "+
			"ask for less, or try again")
	}
	g.held = n
	return nil
}

// Made implements Account.
func (g *guest) Made(r *turn.Result) { g.keep(Size(r)) }

// Kept implements Account: other nodes keep what they want of an answer by themselves.
func (g *guest) Kept(int) {}
