package httpapi

import (
	"cmp"
	"encoding/base64"
	"unicode/utf8"

	"github.com/turnlog/turnlog/turn"
)

type sessionBody struct {
	Key         string `json:"key,omitempty"`
	KeyBase64   string `json:"key_base64,omitempty"` // of a key that is not UTF-8
	Incarnation uint64 `json:"incarnation"`
	Count       uint64 `json:"count"`
	Bytes       uint64 `json:"bytes"`
	FirstSeq    uint64 `json:"first_seq"`
	LastSeq     uint64 `json:"last_seq"`
	Revision    uint64 `json:"revision"`
	Created     int64  `json:"created"`
	Updated     int64  `json:"updated"`
	ExpiresAt   *int64 `json:"expires_at"` // null: never
	SlideMS     int64  `json:"slide_ms"`

	RetainMessages uint64 `json:"retain_messages"` // 0: there is no such limit, nor in turns
	RetainTurns    uint64 `json:"retain_turns"`
	metadataBody
}

type metadataBody struct {
	Metadata       map[string]string `json:"metadata"`
	MetadataBase64 map[string]string `json:"metadata_base64,omitempty"` // entries that are not UTF-8
}

func bodyOf(s *turn.Session) sessionBody {
	b := sessionBody{
		Incarnation: s.Incarnation, Count: s.Count, Bytes: s.Bytes, FirstSeq: s.First, LastSeq: s.Last,
		Revision: s.Revision, Created: s.Created, Updated: s.Updated, SlideMS: s.Slide,
		RetainMessages: s.Retention.Messages, RetainTurns: s.Retention.Turns,
		metadataBody: metadataOf(s),
	}
	if utf8.ValidString(s.Key.Name) {
		b.Key = s.Key.Name
	} else {
		b.KeyBase64 = base64Text(s.Key.Name)
	}
	if s.ExpiresAt != 0 {
		b.ExpiresAt = &s.ExpiresAt
	}
	return b
}

func metadataOf(s *turn.Session) metadataBody {
	b := metadataBody{Metadata: make(map[string]string, len(s.Metadata))}
	for k, v := range s.Metadata {
		if utf8.ValidString(k) && utf8.ValidString(v) {
			b.Metadata[k] = v
			continue
		}
		if b.MetadataBase64 == nil {
			b.MetadataBase64 = make(map[string]string)
		}
		b.MetadataBase64[base64Text(k)] = base64Text(v)
	}
	return b
}

func base64Text(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

type sessionReply struct {
	sessionBody
	Index       uint64 `json:"index"`
	Consistency string `json:"consistency"`
}

func (s *Server) getSession(c *call) (any, error) {
	fresh, label := c.consistency()
	if c.err != nil {
		return nil, c.err
	}
	res, err := c.query(&turn.Info{Key: c.key()}, fresh, 0)
	if err != nil {
		return nil, err
	}
	if res.Session == nil {
		return nil, turn.Errorf(turn.NotFound, "there is no such session")
	}
	if t := res.Session.Type; t != turn.TypeList {
		return nil, turn.Errorf(turn.NotFound, "there is no such session: the key holds a %s", t)
	}
	return sessionReply{bodyOf(res.Session), res.Index, label}, nil
}

type sessionsReply struct {
	Sessions    []sessionBody `json:"sessions"`
	Cursor      string        `json:"cursor"` // "": there are no more
	Index       uint64        `json:"index"`
	Consistency string        `json:"consistency"`
}

const defaultPage = 100 // sessions

func (s *Server) getSessions(c *call) (any, error) {
	fresh, label := c.consistency()
	q := turn.Sessions{
		Namespace: c.namespace,
		Prefix:    c.text("prefix"),
		Labels:    c.labels(),
		Cursor:    c.cursor(),
		Limit:     int(min(c.number("limit", 1, defaultPage), 1<<31-1)),
	}
	if c.err != nil {
		return nil, c.err
	}
	user, err := c.user()
	if err != nil {
		return nil, err
	}
	res, err := user.List(q, func(q turn.Sessions) (turn.Result, error) { return c.query(&q, fresh, 0) })
	if err != nil {
		return nil, err
	}
	if err := c.hold(metaBytes(res.Sessions)); err != nil {
		return nil, err
	}
	r := sessionsReply{Sessions: make([]sessionBody, len(res.Sessions)), Cursor: cursorWord(res.Cursor),
		Index: res.Index, Consistency: label}
	for i := range res.Sessions {
		r.Sessions[i] = bodyOf(&res.Sessions[i])
	}
	return r, nil
}

// metaBytes is about what sessions take as an answer.
func metaBytes(ss []turn.Session) (n int64) {
	for i := range ss {
		n += 512
		for k, v := range ss[i].Metadata {
			n += int64(len(k) + len(v))
		}
	}
	return n
}

// deleteSessions deletes by prefix, step by step, for as long as the client waits.
func (s *Server) deleteSessions(c *call) (any, error) {
	all := c.choice("all", "false", "true") == "true"
	if !c.given("prefix") || c.text("prefix") == "" && !all {
		c.fail("prefix: missing; prefix= with all=true deletes every session of the namespace")
	}
	if c.err != nil {
		return nil, c.err
	}
	op := &turn.Erase{Namespace: c.namespace, Prefix: c.text("prefix"), Limit: turn.EraseStep}
	var removed uint64
	for {
		res, err := c.apply(op)
		if err == nil {
			removed += res.Removed
			if res.Cursor == "" {
				return deletedReply{removed}, nil
			}
			err = cmp.Or(c.interrupted(), c.server.cfg.Engine.Calm(c.ctx))
		}
		if err != nil && removed > 0 {
			err = turn.Errorf(turn.Unknown, "stopped after %d sessions were deleted; the same request continues: %v",
				removed, err)
		}
		if err != nil {
			return nil, err
		}
		step := *op // the last one is the engine's
		step.Cursor = res.Cursor
		op = &step
	}
}

// interrupted returns an error when the client has gone or the server stops.
func (c *call) interrupted() error {
	select {
	case <-c.ctx.Done():
		return turn.Errorf(turn.Unavailable, "the client has disconnected")
	case <-c.server.stopping:
		return turn.Errorf(turn.Unavailable, "the node is stopping")
	default:
		return nil
	}
}
