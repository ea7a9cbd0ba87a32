package httpapi

import (
	"encoding/json"

	"github.com/turnlog/turnlog/turn"
)

// defaultLimit is the number of messages that a read returns at most when it
// says no number.
const defaultLimit = 1000

type appendReply struct {
	FirstSeq  uint64 `json:"first_seq"`
	LastSeq   uint64 `json:"last_seq"`
	Revision  uint64 `json:"revision"`
	Duplicate bool   `json:"duplicate"`
	Count     uint64 `json:"count"`
}

func (s *Server) postMessages(c *call) (any, error) {
	body, err := c.body(appendBody(c.limits))
	if err != nil {
		return nil, err
	}
	op, err := readAppend(inBody(body), c.limits)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return appendReply{res.First, res.Last, res.Revision, res.Duplicate, res.Count}, err
}

// messagesReply is a page of a session: its messages, and the bounds of the
// whole session.
type messagesReply struct {
	turn.Result
	consistency string
	encoding    encoding
	metadata    bool
}

func (r messagesReply) write(o *output) {
	s := r.Session
	if s == nil {
		s = &turn.Session{}
	}
	o.text(`{"messages":`)
	o.messages(r.Messages, r.encoding)
	for _, f := range []struct {
		name string
		n    uint64
	}{
		{`,"first_seq":`, s.First}, {`,"last_seq":`, s.Last}, {`,"count":`, s.Count},
		{`,"revision":`, s.Revision}, {`,"incarnation":`, s.Incarnation}, {`,"index":`, r.Index},
	} {
		o.text(f.name)
		o.number(f.n)
	}
	if r.More {
		o.text(`,"more":true`)
	} else {
		o.text(`,"more":false`)
	}
	if r.metadata {
		b, _ := json.Marshal(metadataOf(s)) // of strings: cannot fail
		o.text(",")
		o.raw(b[1 : len(b)-1])
	}
	o.text(`,"consistency":`)
	o.quote(r.consistency)
	o.text("}\n")
}

func (s *Server) getMessages(c *call) (any, error) {
	q := &turn.Read{
		Key:       c.key(),
		MaxBytes:  int64(c.number("max_bytes", 1, 0)),
		MaxTokens: int64(c.number("max_tokens", 1, 0)),
		Whole:     c.choice("whole", "false", "true") == "true",
		Since:     int64(c.number("since", 1, 0)),
		Until:     int64(c.number("until", 1, 0)),
	}
	c.place(q)
	encoding := c.encoding()
	fresh, label := c.consistency()
	metadata := c.choice("metadata", "false", "true") == "true"
	if c.err != nil {
		return nil, c.err
	}
	res, err := c.query(q, fresh, c.foresee(q))
	return messagesReply{res, label, encoding, metadata}, err
}

// foresee says roughly how many payload bytes the answer to q will have, judging
// by what this node knows of the session, so that many large reads at once are
// refused before they are made rather than afterwards.
func (c *call) foresee(q *turn.Read) int64 {
	res, err := c.server.cfg.Engine.Query(c.ctx, &turn.Info{Key: q.Key}, turn.Consistency{Level: turn.Stale})
	s := res.Session
	if err != nil || s == nil || s.Count == 0 {
		return 0 // the read itself will tell
	}
	bytes := int64(min(uint64(q.Limit), s.Count) * (s.Bytes/s.Count + 1))
	if q.MaxBytes > 0 {
		bytes = min(bytes, q.MaxBytes)
	}
	return min(bytes, int64(c.limits.ReadBytes))
}

// place reads which messages are asked for: last=N, or after=S or before=S with
// a limit, or the last ones.
func (p *params) place(q *turn.Read) {
	places := 0
	for _, name := range []string{"last", "after", "before"} {
		if p.given(name) {
			places++
		}
	}
	if places > 1 {
		p.fail("last, after, before: only one of them")
	}
	limit := p.number("limit", 1, defaultLimit)
	switch {
	case p.given("after"):
		q.From, q.Seq = turn.FromAfter, p.number("after", 0, 0)
	case p.given("before"):
		q.From, q.Seq = turn.FromBefore, p.number("before", 0, 0)
	default:
		if p.given("limit") {
			p.fail("limit: goes with after or before; last=N asks for the N newest")
		}
		limit = p.number("last", 1, defaultLimit)
	}
	q.Limit = int(min(limit, 1<<31-1))
}

type poppedReply struct {
	turn.Result
	encoding encoding
}

func (r poppedReply) write(o *output) {
	o.text(`{"messages":`)
	o.messages(r.Messages, r.encoding)
	o.text(`,"count":`)
	o.number(r.Count)
	o.text(`,"revision":`)
	o.number(r.Revision)
	o.text("}\n")
}

func (s *Server) postPop(c *call) (any, error) {
	encoding := c.encoding()
	if c.err != nil {
		return nil, c.err
	}
	op, err := decodeBody(c, readPop)
	if err != nil {
		return nil, err
	}
	op.Key = c.key()
	res, err := c.apply(op)
	return poppedReply{res, encoding}, err
}
