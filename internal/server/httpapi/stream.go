package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// What a stream holds of a session at a time. A client that reads slowly costs
// no more: it is the session that remembers for it.
const (
	streamMessages = 64
	streamBytes    = 256 << 10
)

// stream is a tail of a session as server-sent events.
type stream struct {
	*call
	encoding    encoding
	after       uint64 // seq of the last message sent
	incarnation uint64 // of the session that after belongs to; 0: there was none
	known       bool   // incarnation is; if it is not, after belongs to any
	index       uint64 // log index of the newest state that was read
	begun       bool   // the head of the response has been sent
}

var errStopping = errors.New("the node is stopping")

// getStream sends the messages after a seq, and then each new one, until the
// client goes away.
func (s *Server) getStream(c *call) (any, error) {
	st := &stream{call: c, encoding: encoding{base64: c.encoding().base64, lines: true}}
	st.after = c.number("after", 0, 0)
	st.incarnation, st.known = c.number("incarnation", 0, 0), c.given("incarnation")
	if id := c.request.Header.Get("Last-Event-ID"); id != "" {
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			c.fail("Last-Event-ID: must be the seq of a message, is %.32q", id)
		}
		st.after = n
	}
	if c.err != nil {
		return nil, c.err
	}
	s.instruments.streams.Inc()
	defer s.instruments.streams.Dec()
	err := st.run()
	switch {
	case !st.begun:
		return nil, err
	case errors.Is(err, errStopping):
		st.comment(err.Error())
	case err != nil && c.out.err == nil:
		_, body, _ := describe(err)
		st.event("failure", body)
	}
	st.flush()
	return written{}, nil
}

// run returns when the client has gone, the server stops or a read fails.
func (st *stream) run() error {
	changed, stop := st.server.cfg.Engine.Watch(st.key()) // before the first read, so that no change falls between
	defer stop()
	for {
		more, err := st.page()
		if err != nil {
			return err
		}
		if st.request.Method == http.MethodHead {
			return nil
		}
		if more {
			continue
		}
		if err := st.wait(changed); err != nil {
			return err
		}
	}
}

// page sends the next messages, and reports whether there are more by now.
func (st *stream) page() (more bool, err error) {
	before := st.held
	defer func() { // the page is given back before the next one is read
		st.server.memory.Take(st.who(), before-st.held)
		st.held = before
	}()
	res, err := st.read()
	if err != nil {
		if st.begun && turn.AsError(err).Retry() {
			return false, nil // what is there now is sent after the next change or heartbeat
		}
		return false, err
	}
	st.index = res.Index
	if !st.begun {
		st.begin()
	}
	if st.reset(res.Session) {
		return true, st.flush()
	}
	for i := range res.Messages {
		m := &res.Messages[i]
		st.out.text("id: ")
		st.out.number(m.Seq)
		st.out.text("\ndata: ")
		st.out.message(m, st.encoding)
		st.out.text("\n\n")
		st.after = m.Seq
	}
	return res.More, st.flush()
}

// read returns the next messages of a state that is no older than the last one.
// The state of this node will do, except at first and when the leader answered
// before and this node has yet to get there: then a session that is not known
// here yet would look like one that was deleted.
func (st *stream) read() (turn.Result, error) {
	q := &turn.Read{Key: st.key(), From: turn.FromAfter, Seq: st.after, Limit: streamMessages, MaxBytes: streamBytes}
	if st.begun {
		res, err := st.query(q, turn.Consistency{Level: turn.Stale}, streamBytes)
		if err != nil || res.Index >= st.index {
			return res, err
		}
	}
	return st.query(q, turn.Consistency{Level: turn.Linearizable}, streamBytes)
}

// begin sends the head of the response.
func (st *stream) begin() {
	st.begun = true
	h := st.out.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies that would collect the answer
	st.out.text("retry: 1000\n\n")
}

// reset compares the session with the one that has been read so far. If it is another one, it
// says so and starts over, from the beginning of the next: after a deletion, and as a session begins.
func (st *stream) reset(s *turn.Session) bool {
	var incarnation, last uint64
	if s != nil {
		incarnation, last = s.Incarnation, s.Last
	}
	other := st.known && st.incarnation != incarnation || st.after > last
	st.incarnation = incarnation
	if !other {
		st.known = st.known || incarnation != 0
		return false
	}
	st.after, st.known = 0, true
	st.out.text("id: 0\n")
	st.event("reset", struct {
		Incarnation uint64 `json:"incarnation"`
	}{incarnation})
	return true
}

// wait returns nil when the session has changed, or after a heartbeat, which
// shows the client, and proxies between, that the stream is alive.
func (st *stream) wait(changed <-chan struct{}) error {
	heartbeat := time.NewTimer(st.server.cfg.Heartbeat)
	defer heartbeat.Stop()
	select {
	case <-changed:
		return nil
	case <-heartbeat.C:
		st.comment("")
		return st.flush()
	case <-st.server.stopping:
		return errStopping
	case <-st.ctx.Done():
		return st.ctx.Err()
	}
}

func (st *stream) comment(text string) {
	st.out.text(": ")
	st.out.text(text)
	st.out.text("\n\n")
}

func (st *stream) event(name string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		st.out.err = err
		return
	}
	st.out.text("event: ")
	st.out.text(name)
	st.out.text("\ndata: ")
	st.out.raw(b)
	st.out.text("\n\n")
}

// flush hands everything to the connection, within the time that a client may
// take nothing.
func (st *stream) flush() error {
	st.out.flush()
	if st.out.err == nil {
		st.out.err = st.out.rc.Flush()
	}
	return st.out.err
}
