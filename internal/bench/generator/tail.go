package generator

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/internal/bench/target"
	"github.com/turnlog/turnlog/internal/resp"
)

// In the workload tail each client is a pair: a writer that appends to a session
// of its own in a closed loop, and a reader that follows the session over
// another connection. An operation is a message's way from the moment when its
// append was sent to the moment when the reader has it.
const (
	tailBlock = 200 * time.Millisecond // for which a reader's request waits
	tailGrace = 5 * time.Second        // for which a message may be late at the end
)

// pair is what a writer and its reader share: the session, whose messages have
// seqs from 1 on.
type pair struct {
	key    []byte
	sent   []time.Time // of the messages that the reader does not have yet
	acked  uint64
	got    uint64    // messages that the reader has
	over   time.Time // when the writer ended; zero: it goes on
	broken bool      // an append failed: seqs cannot be told any more
}

// TailPairs returns the clients of n pairs, each with a session of its own. Appends are counted
// by the load's recorder, the ways of messages by that of the readers, whose end is the writers' as well.
func TailPairs(shared *Load, prefix string, n int, readers *Recorder) []*Client {
	var clients []*Client
	for i := range n {
		p := &pair{key: strconv.AppendInt([]byte(prefix), int64(i), 10)}
		writer, reader := *shared, *shared
		writer.role, reader.role = &tailWriter{p, readers.Until}, &tailReader{p}
		reader.Record = readers
		clients = append(clients, &Client{Load: &writer}, &Client{Load: &reader})
	}
	return clients
}

// role is what a client does, if it is not to take the steps of operations.
type role interface {
	// begin puts the first request into c.out; received takes answers from c.in
	// and puts the next one there, or makes the client idle.
	begin(c *Client, now time.Time)
	received(c *Client, now time.Time) error
}

// tailWriter appends, one message at a time.
type tailWriter struct {
	*pair
	until time.Time
}

func (w *tailWriter) begin(c *Client, now time.Time) {
	if now.After(w.until) || w.broken {
		w.over, c.idle = now, true
		return
	}
	w.sent = append(w.sent, now)
	c.out, c.owed = c.Dialect.Append(c.out[:0], w.key, 1, c.Payloads)
}

func (w *tailWriter) received(c *Client, now time.Time) error {
	n, err := c.Dialect.Answer(c.in)
	var no target.Refusal
	if errors.As(err, &no) {
		c.Record.Failed(err)
		w.broken = true
	} else if err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	c.in = c.in[:copy(c.in, c.in[n:])]
	w.acked++
	w.begin(c, now)
	return nil
}

// tailReader follows the session.
type tailReader struct{ *pair }

func (r *tailReader) begin(c *Client, _ time.Time) {
	out := target.AppendWords(c.out[:0], "TURN.TAIL", string(r.key), "AFTER", strconv.FormatUint(r.got, 10),
		"BLOCK", strconv.FormatInt(tailBlock.Milliseconds(), 10))
	c.out, c.owed = out, 1
}

func (r *tailReader) received(c *Client, now time.Time) error {
	n, err := c.Dialect.Answer(c.in)
	var no target.Refusal
	if errors.As(err, &no) {
		c.Record.Failed(err)
		c.idle = true
		return nil
	}
	if n == 0 || err != nil {
		return err
	}
	seqs, err := tailSeqs(c.in[:n])
	if err != nil {
		return err
	}
	c.in = c.in[:copy(c.in, c.in[n:])]
	if err := r.take(c, seqs, now); err != nil {
		return err
	}
	switch {
	case r.over.IsZero() || !r.broken && r.got < r.acked && now.Sub(r.over) < tailGrace:
		r.begin(c, now)
	case !r.broken && r.got < r.acked:
		return fmt.Errorf("session %s: %d of %d acknowledged messages never came", r.key, r.acked-r.got, r.acked)
	default:
		c.idle = true
	}
	return nil
}

// take records messages, which must be those that are due.
func (r *tailReader) take(c *Client, seqs []uint64, now time.Time) error {
	for _, seq := range seqs {
		if seq != r.got+1 || len(r.sent) == 0 {
			return fmt.Errorf("session %s: message %d came when %d was due", r.key, seq, r.got+1)
		}
		c.Record.Ended(r.sent[0], now)
		r.sent = r.sent[1:]
		r.got++
	}
	return nil
}

// tailSeqs returns the seqs of the messages in an answer to TURN.TAIL.
func tailSeqs(answer []byte) ([]uint64, error) {
	v, err := resp.NewReplyReader(bytes.NewReader(answer), resp.Limits{}).Next()
	if err != nil {
		return nil, err
	}
	var seqs []uint64
	for _, m := range v.Elems {
		if len(m.Elems) != 4 || m.Elems[0].Kind != resp.Integer {
			return nil, fmt.Errorf("no message: %.80q", answer)
		}
		seqs = append(seqs, uint64(m.Elems[0].Int))
	}
	return seqs, nil
}
