package generator

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/internal/bench/target"
)

// Step is one request of an operation.
type Step struct {
	Messages int  // to append; 0: read
	Read     bool // the last Load.Last messages
}

// Load is what the clients of one generator share.
type Load struct {
	Dialect  target.Dialect
	Payloads *target.Payloads
	Rand     *rand.Rand
	Last     int
	// Operation returns the next operation and its session; false: no more.
	Operation func() (steps []Step, session int, ok bool)
	Prefix    string
	Record    *Recorder
	role      role // nil: to take the steps of operations
}

// Clients returns n clients of the load.
func (l *Load) Clients(n int) []*Client {
	var all []*Client
	for range n {
		all = append(all, &Client{Load: l})
	}
	return all
}

// Client is one connection and what it waits for. It does no input or output
// itself: its driver sends out, and gives what arrives to received.
type Client struct {
	*Load
	out   []byte // to be sent
	in    []byte // received, not yet understood
	key   []byte
	steps []Step // still to be taken
	owed  int    // answers to the requests in flight
	begun time.Time
	broke bool // the operation was refused in part
	idle  bool // nothing is in flight, and nothing will be
}

// begin starts the next operation.
func (c *Client) begin(now time.Time) {
	if c.role != nil {
		c.role.begin(c, now)
		return
	}
	steps, session, ok := c.Operation()
	if !ok {
		c.idle = true
		return
	}
	c.key = append(c.key[:0], c.Prefix...)
	c.key = strconv.AppendInt(c.key, int64(session), 10)
	c.steps, c.begun, c.broke = steps, now, false
	c.step()
}

func (c *Client) step() {
	s := c.steps[0]
	c.steps = c.steps[1:]
	if s.Read {
		c.out, c.owed = c.Dialect.Read(c.out[:0], c.key, c.Last)
	} else {
		c.out, c.owed = c.Dialect.Append(c.out[:0], c.key, s.Messages, c.Payloads)
	}
}

// received looks for answers in c.in, and goes on if all have come. An error
// means that the connection cannot be used any more.
func (c *Client) received(now time.Time) error {
	if c.role != nil {
		return c.role.received(c, now)
	}
	at := 0
	for c.owed > 0 {
		n, err := c.Dialect.Answer(c.in[at:])
		var no target.Refusal
		if errors.As(err, &no) {
			c.Record.Failed(err)
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
		c.Record.Ended(c.begun, now)
		c.begin(now)
	}
	return nil
}
