package bench

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/internal/bench/target"
)

// load is what the clients of one generator share.
type load struct {
	dialect  target.Dialect
	payloads *target.Payloads
	rand     *rand.Rand
	last     int
	// operation returns the next operation and its session; false: no more.
	operation func() (steps []step, session int, ok bool)
	prefix    string
	record    *recorder
	role      role // nil: to take the steps of operations
}

// clients returns n clients of the load.
func (l *load) clients(n int) []*client {
	var all []*client
	for range n {
		all = append(all, &client{load: l})
	}
	return all
}

// client is one connection and what it waits for. It does no input or output
// itself: its driver sends out, and gives what arrives to received.
type client struct {
	*load
	out   []byte // to be sent
	in    []byte // received, not yet understood
	key   []byte
	steps []step // still to be taken
	owed  int    // answers to the requests in flight
	begun time.Time
	broke bool // the operation was refused in part
	idle  bool // nothing is in flight, and nothing will be
}

// begin starts the next operation.
func (c *client) begin(now time.Time) {
	if c.role != nil {
		c.role.begin(c, now)
		return
	}
	steps, session, ok := c.operation()
	if !ok {
		c.idle = true
		return
	}
	c.key = append(c.key[:0], c.prefix...)
	c.key = strconv.AppendInt(c.key, int64(session), 10)
	c.steps, c.begun, c.broke = steps, now, false
	c.step()
}

func (c *client) step() {
	s := c.steps[0]
	c.steps = c.steps[1:]
	if s.read {
		c.out, c.owed = c.dialect.Read(c.out[:0], c.key, c.last)
	} else {
		c.out, c.owed = c.dialect.Append(c.out[:0], c.key, s.messages, c.payloads)
	}
}

// received looks for answers in c.in, and goes on if all have come. An error
// means that the connection cannot be used any more.
func (c *client) received(now time.Time) error {
	if c.role != nil {
		return c.role.received(c, now)
	}
	at := 0
	for c.owed > 0 {
		n, err := c.dialect.Answer(c.in[at:])
		var no target.Refusal
		if errors.As(err, &no) {
			c.record.failed(err)
			c.broke = true
		} else if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		at += n
		c.owed--
	}
	c.in = c.in[:copy(c.in, c.in[at:])]
	if c.owed > 0 {
		return nil
	}
	if len(c.in) > 0 {
		return errors.New("the server sent more than it was asked for")
	}
	switch {
	case c.broke:
		c.begin(now)
	case len(c.steps) > 0:
		c.step()
	default:
		c.record.ended(c.begun, now)
		c.begin(now)
	}
	return nil
}
