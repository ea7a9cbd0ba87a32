package codec

import (
	"github.com/turnlog/turnlog/turn"
)

type (
	result  turn.Result
	opError turn.Error
	session turn.Session
)

func (r *result) fields(c *coder) {
	c.answer((*turn.Result)(r))
	c.bool(&r.Aborted)
	list(c, &r.Steps, c.outcome)
}

// answer codes what every answer may have, and a transaction's steps too.
func (c *coder) answer(r *turn.Result) {
	c.uint64(&r.First)
	c.uint64(&r.Last)
	c.uint64(&r.Revision)
	c.uint64(&r.Count)
	c.uint64(&r.Removed)
	c.bool(&r.Duplicate)
	c.bool(&r.More)
	list(c, &r.Messages, c.message)
	optional(c, &r.Session, c.session)
	list(c, &r.Sessions, c.session)
	c.string(&r.Cursor)
	c.uint64(&r.Index)
	c.int64(&r.Time)
	c.bool(&r.Found)
	c.int64(&r.Number)
	c.float64(&r.Score)
	c.bytes(&r.Value)
	list(c, &r.Elements, c.element)
	c.entryID(&r.ID)
	list(c, &r.Entries, c.entry)
}

func (c *coder) element(e *turn.Element) {
	c.string(&e.Name)
	c.bytes(&e.Value)
	c.float64(&e.Score)
	c.bool(&e.Missing)
}

func (c *coder) message(m *turn.Message) {
	c.uint64(&m.Seq)
	c.int64(&m.Time)
	c.string(&m.ID)
	c.bytes(&m.Data)
}

func (c *coder) session(s *turn.Session) { c.nested(c.mode, (*session)(s)) }

func (s *session) fields(c *coder) {
	c.key(&s.Key)
	c.typ(&s.Type)
	c.uint64(&s.Incarnation)
	c.uint64(&s.Count)
	c.uint64(&s.Bytes)
	c.uint64(&s.First)
	c.uint64(&s.Last)
	c.uint64(&s.Revision)
	c.int64(&s.Created)
	c.int64(&s.Updated)
	c.int64(&s.ExpiresAt)
	c.int64(&s.Slide)
	c.stringMap(&s.Metadata)
	c.entryID(&s.LastEntry)
	if c.later(turn.Level2, s.Retention != turn.Retention{}) {
		c.retention(&s.Retention)
	}
}

func (e *opError) fields(c *coder) {
	enum(c, &e.Kind, turn.Forbidden)
	c.string(&e.Message)
	c.uint64(&e.Revision)
	if c.later(turn.Level2, e.Condition != 0 || e.Step != 0) {
		c.int(&e.Condition)
		c.int(&e.Step)
	}
}

// EncodeResult returns the wire form of r.
func EncodeResult(r *turn.Result) ([]byte, error) { return encode(nil, (*result)(r)) }

// DecodeResult reads an answer. Its payloads share memory with b.
func DecodeResult(b []byte) (r turn.Result, err error) {
	err = decode(b, (*result)(&r))
	return r, err
}

// EncodeError returns the wire form of e.
func EncodeError(e *turn.Error) ([]byte, error) { return encode(nil, (*opError)(e)) }

// DecodeError reads an error.
func DecodeError(b []byte) (*turn.Error, error) {
	e := new(turn.Error)
	if err := decode(b, (*opError)(e)); err != nil {
		return nil, err
	}
	return e, nil
}

// stepResult is the answer of a step, which has no steps of its own.
type stepResult turn.Result

func (r *stepResult) fields(c *coder) { c.answer((*turn.Result)(r)) }
