package redis

import (
	"context"
	"sync"

	"github.com/turnlog/turnlog/internal/answers"
	"github.com/turnlog/turnlog/internal/server/memory"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// charge is what one request holds of the memory for replies, from before its answer is made until it is written.
// It implements answers.Account.
//
// The charges of a connection take memory in the order of its requests. Otherwise, later replies could hold what an
// earlier one waits for, which has to be written before them.
type charge struct {
	srv    *Server
	who    string
	asks   asks
	before <-chan struct{} // closed when the charge before it has what it needs; nil: it has

	mu     sync.Mutex
	gone   bool          // it has what it needs
	passed chan struct{} // closed then; nil: the charge behind it has not asked
	taken  int64         // of the budget
	made   int64         // bytes of the answers that count
	kept   int64         // bytes that are kept beside
}

// asks says what a request asks.
type asks uint8

const (
	asksOnce     asks = iota // one query
	asksAll                  // queries whose answers are all kept
	asksOneByOne             // queries of which only the last answer is kept
)

// charge returns the charge of the next request of the connection.
func (c *conn) charge(asks asks) *charge {
	h := &charge{srv: c.srv, who: c.payer(), asks: asks, before: c.charged.behind()}
	c.charged = h
	return h
}

// payer is a user of a connection, and what the budget calls it.
type payer struct{ user, who string }

// payer is who has the memory for the connection's replies. It is asked with each request, and hardly ever changes.
func (c *conn) payer() string {
	if p := &c.paying; p.who == "" || p.user != c.who.login.Name {
		p.user = c.who.login.Name
		p.who = memory.Who(p.user, c.wire.Remote().String())
	}
	return c.paying.who
}

// behind returns what is closed when the charge behind it may take what it needs; nil: it may.
func (h *charge) behind() <-chan struct{} {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.passed == nil && !h.gone {
		h.passed = make(chan struct{})
	}
	return h.passed
}

// pass lets the charge behind it take what it needs.
func (h *charge) pass() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gone && h.passed != nil {
		close(h.passed)
	}
	h.gone = true
}

// in returns a context in which answers are charged to it.
func (h *charge) in(ctx context.Context) context.Context { return answers.With(ctx, h) }

// Begin implements answers.Account. It takes as much as the answer could have at most, and if that is not left, as
// much as what the query asks about has.
func (h *charge) Begin(ctx context.Context, q turn.Query, ask func(turn.Query) (turn.Result, error)) error {
	if err := h.inTurn(ctx); err != nil {
		return err
	}
	if h.asks == asksOneByOne {
		h.forget()
	}
	most := answers.Most(q, h.srv.engine.Limits())
	err := h.take(ctx, most, func() int64 { return answers.Foreseen(q, most, ask) })
	if h.asks == asksOnce {
		h.pass()
	}
	return err
}

// inTurn waits until the charge before it has what it needs.
func (h *charge) inTurn(ctx context.Context) error {
	if h.before == nil {
		return nil
	}
	select {
	case <-h.before:
		h.before = nil
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take has n bytes more than those of the answers so far, or less, if less suffices.
func (h *charge) take(ctx context.Context, n int64, less func() int64) error {
	if n <= answers.Small {
		return nil
	}
	need := h.missing(n)
	if need <= 0 || h.srv.replying.Take(h.who, need) {
		h.add(max(need, 0))
		return nil
	}
	if n = less(); n <= answers.Small {
		return nil
	}
	if need = h.missing(n); need > 0 && !h.srv.replying.TakeWithin(ctx, h.srv.cfg.ReplyWait, h.who, need) {
		return turn.Errorf(turn.Overloaded, "replies that clients have not read yet take up the memory for replies; "+
			"read them, ask for less, or try again")
	}
	h.add(max(need, 0))
	return nil
}

// missing returns how many bytes are to be taken for n more. No reply takes more than a user may have.
func (h *charge) missing(n int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(h.made+h.kept+n, h.srv.replying.Each()) - h.taken
}

func (h *charge) add(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken += n
}

// Made implements answers.Account.
func (h *charge) Made(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made += n
	h.settleLocked()
}

// Kept implements answers.Account.
func (h *charge) Kept(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept += int64(n)
}

// settle gives back what the answers do not take.
func (h *charge) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settleLocked()
}

// forget notes that no answer so far counts any more.
func (h *charge) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made = 0
	h.settleLocked()
}

// settleLocked takes as much as the answers have, or gives back what is more.
func (h *charge) settleLocked() {
	want := min(h.made+h.kept, h.srv.replying.Each())
	if want <= answers.Small {
		want = 0
	}
	if want != h.taken {
		h.srv.replying.Force(h.who, want-h.taken)
		h.taken = want
	}
}

// release gives everything back: the reply is written.
func (h *charge) release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.made, h.kept = 0, 0
	h.settleLocked()
	h.mu.Unlock()
	h.pass()
}

// reserve takes what the answer to an operation may have, before it is submitted. It is called by the goroutine that
// reads requests.
func (c *conn) reserve(op turn.Op) (*charge, error) {
	n := c.srv.foreseenOf(op)
	if n <= answers.Small {
		return nil, nil
	}
	h := c.charge(asksAll)
	c.replies.Flush()
	err := h.inTurn(c.srv.work)
	if err == nil {
		err = h.take(c.srv.work, n, func() int64 { return n })
	}
	h.pass()
	return h, err
}

// foreseenOf estimates how many bytes the answer to an operation has.
func (s *Server) foreseenOf(op turn.Op) (n int64) {
	ask := func(q turn.Query) (turn.Result, error) {
		return s.engine.Query(s.work, q, turn.Consistency{Level: turn.Stale})
	}
	limits := s.engine.Limits()
	most := int64(limits.ReadBytes)
	switch o := op.(type) {
	case *turn.Tx:
		limits.ReadBytes = turn.DefaultLimits().ReadBytes // the bound of reads in transactions on all nodes
		for i := range o.Steps {
			if step := &o.Steps[i]; step.Query != nil {
				n += answers.Foreseen(step.Query, answers.Most(step.Query, limits), ask)
			} else {
				n += s.foreseenOf(step.Op)
			}
		}
	case *turn.Pop:
		n = answers.Foreseen(&turn.List{Key: o.Key}, min(most, int64(min(o.Count, 1<<20))*int64(limits.MessageBytes)),
			ask)
	case *turn.PopFirst:
		for _, k := range o.Keys {
			n = max(n, s.foreseenOf(&turn.Pop{Key: k, Count: o.Count}))
		}
	case *turn.MoveElement:
		n = s.foreseenOf(&turn.Pop{Key: o.Key, Count: 1})
	case *turn.RemoveScores:
		if o.Answer {
			n = answers.Foreseen(&o.Of, most, ask)
		}
	case *turn.SetString:
		if o.Get {
			n = answers.Foreseen(&turn.GetString{Key: o.Key}, int64(limits.MessageBytes), ask)
		}
	}
	return n
}

var _ answers.Account = (*charge)(nil)

// settled is an outcome after which a charge is of what the result has; nil: there is no charge.
func (h *charge) settled(r *turn.Result, err error) {
	if h == nil {
		return
	}
	if h.forget(); err == nil {
		h.Made(answers.Size(r))
	}
}

// inCharge is a task whose answers are charged.
func inCharge(h *charge, run func(context.Context) (command.Reply, command.States, error)) func(context.Context) (
	command.Reply, command.States, error) {
	return func(ctx context.Context) (command.Reply, command.States, error) {
		h.forget() // what an earlier run had
		defer h.pass()
		defer h.settle()
		return run(h.in(ctx))
	}
}
