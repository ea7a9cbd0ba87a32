package client

import (
	"context"
	"iter"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// History is the answer to a read. For a session that does not exist, all fields are zero, so
// Expect(history.Revision) holds as long as what was read is current.
type History struct {
	Messages    []turn.Message // in commit order
	Revision    uint64
	Incarnation uint64
	First       uint64 // seq of the oldest message held
	Last        uint64 // highest seq ever given
	Count       uint64 // messages held
	More        bool   // there are more messages in the direction that was read
	// Metadata is the session's metadata as of Revision, if it was requested; see Session.WithMetadata.
	Metadata map[string]string
}

// WithMetadata makes reads of the returned handle also return the session's metadata, as of the same
// revision as the messages.
func (s Session) WithMetadata() Session {
	s.meta = true
	return s
}

// Stale makes reads of the returned handle return some past state of the node that answers, at once and
// even without a leader.
func (s Session) Stale() Session {
	s.fresh = turn.Consistency{Level: turn.Stale}
	return s
}

// Bounded makes reads of the returned handle include every write that was acknowledged at least age
// before the read began.
func (s Session) Bounded(age time.Duration) Session {
	s.fresh = turn.Consistency{Level: turn.Bounded, MaxAge: age}
	return s
}

// Last returns the n newest messages, or fewer: no more than one answer may hold (turn.Limits.ReadBytes,
// ReadMessages and AnswerBytes of the server), and with n = 0, that many. History.More says whether there are
// older ones. To keep the first message from being the result of a tool call that was cut off, use Read with
// turn.Read.Whole.
func (s Session) Last(ctx context.Context, n int) (History, error) {
	if n < 0 {
		return History{}, turn.Errorf(turn.Invalid, "the number of messages must not be negative, is %d", n)
	}
	return s.Read(ctx, turn.Read{From: turn.FromLast, Limit: n})
}

// Read returns the messages that q selects; q.Key is ignored.
func (s Session) Read(ctx context.Context, q turn.Read) (History, error) {
	q.Key = s.turnKey()
	if err := q.Validate(s.c.limits); err != nil {
		return History{}, err
	}
	v, err := s.c.do(ctx, s.readRequest(q))
	if err != nil {
		return History{}, err
	}
	return decodeHistory(v)
}

func (s Session) readRequest(q turn.Read) *request {
	r := s.request(vRead)
	switch {
	case q.From == turn.FromAfter:
		r.strings("AFTER").uint(q.Seq)
	case q.From == turn.FromBefore:
		r.strings("BEFORE").uint(q.Seq)
	case q.Limit > 0:
		r.strings("LAST").int(int64(q.Limit))
	}
	if q.Limit > 0 && q.From != turn.FromLast {
		r.strings("LIMIT").int(int64(q.Limit))
	}
	if q.MaxBytes > 0 {
		r.strings("MAXBYTES").int(q.MaxBytes)
	}
	if q.MaxTokens > 0 {
		r.strings("MAXTOKENS").int(q.MaxTokens)
	}
	if q.Whole {
		r.strings("WHOLE")
	}
	if q.Since > 0 {
		r.strings("SINCE").int(q.Since)
	}
	if q.Until > 0 {
		r.strings("UNTIL").int(q.Until)
	}
	if s.meta {
		r.strings("METADATA")
	}
	switch s.fresh.Level {
	case turn.Stale:
		r.strings("CONSISTENCY", "STALE")
	case turn.Bounded:
		r.strings("CONSISTENCY", "BOUNDED").int(s.fresh.MaxAge.Milliseconds())
	}
	return r
}

// All yields every message with a seq above after, page by page, up to the end
// of the session at that moment. An error is the last thing yielded: a
// turn.Conflict, if the session was deleted or renamed between two pages, so that
// the messages are never those of two sessions.
func (s Session) All(ctx context.Context, after uint64) iter.Seq2[turn.Message, error] {
	return func(yield func(turn.Message, error) bool) {
		s, after, incarnation, last := s, after, uint64(0), uint64(0)
		for more := true; more; {
			h, err := s.Read(ctx, turn.Read{From: turn.FromAfter, Seq: after, Limit: pageMessages, MaxBytes: pageBytes})
			if err != nil {
				yield(turn.Message{}, err)
				return
			}
			lags := h.Incarnation < incarnation || h.Incarnation == incarnation && h.Last < last
			if lags && s.fresh != linearizable {
				s.fresh = linearizable // this node is behind the one that answered before
				continue
			}
			if incarnation != 0 && h.Incarnation != incarnation {
				err := turn.Errorf(turn.Conflict, "the session was deleted or renamed while it was read, after seq %d",
					after)
				err.Revision = h.Revision
				yield(turn.Message{}, err)
				return
			}
			incarnation, last = h.Incarnation, h.Last
			for _, m := range h.Messages {
				if !yield(m, nil) {
					return
				}
				after = m.Seq
			}
			more = h.More
		}
	}
}

const (
	pageMessages = 512
	pageBytes    = 4 << 20
)

// Info describes the session. If there is none, the error is turn.NotFound.
func (s Session) Info(ctx context.Context) (turn.Session, error) {
	v, err := s.c.do(ctx, s.request(vInfo))
	if err != nil {
		return turn.Session{}, err
	}
	if v.IsNull() {
		return turn.Session{}, turn.Errorf(turn.NotFound, "there is no session %q", s.key)
	}
	return decodeSession(v, s.turnKey())
}

// Metadata returns the session's metadata, nil if it has none or does not exist.
func (s Session) Metadata(ctx context.Context) (map[string]string, error) {
	v, err := s.c.do(ctx, s.request(vGetMeta))
	if err != nil {
		return nil, err
	}
	return decodeMeta(v)
}
