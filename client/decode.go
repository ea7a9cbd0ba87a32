package client

import (
	"strconv"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// malformed is the error of a reply that is not what it must be. What was asked for may have taken place.
func malformed(what string) *turn.Error {
	return turn.Errorf(turn.Unknown, "the server's reply cannot be decoded: %s", what)
}

// uintOf returns a field as a number, 0 if it is missing.
func uintOf(v resp.Value, field string) uint64 {
	f, _ := v.Field(field)
	return asUint(f)
}

func intOf(v resp.Value, field string) int64 {
	f, _ := v.Field(field)
	return asInt(f)
}

func asInt(v resp.Value) int64 {
	n, _ := v.Int64()
	return n
}

func asUint(v resp.Value) uint64 {
	if n, ok := v.Int64(); ok {
		return uint64(n)
	}
	return 0
}

func parseUint(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

func isMap(v resp.Value) bool { return v.Kind == resp.Map || v.Kind == resp.Array }

func decodeResult(v resp.Value) (turn.Result, error) {
	if v.Kind == resp.Integer {
		return turn.Result{Removed: uint64(v.Int)}, nil
	}
	if !isMap(v) {
		return turn.Result{}, malformed("no map")
	}
	r := turn.Result{
		First: uintOf(v, "first_seq"), Last: uintOf(v, "last_seq"), Revision: uintOf(v, "revision"),
		Count: uintOf(v, "count"), Removed: uintOf(v, "removed"), Duplicate: uintOf(v, "duplicate") != 0,
	}
	if seq := uintOf(v, "seq"); seq > 0 { // of the one message that it is about
		r.First, r.Last = seq, seq
	}
	var err error
	if f, ok := v.Field("messages"); ok {
		r.Messages, err = decodeMessages(f)
	}
	return r, err
}

// decodeAppended reads the answer to an append, which without seqs and a revision is none.
func decodeAppended(v resp.Value) (turn.Result, error) {
	r, err := decodeResult(v)
	if err == nil && (r.First == 0 || r.Revision == 0) {
		err = malformed("the seqs or the revision of an append are missing")
	}
	if err != nil {
		return turn.Result{}, err
	}
	return r, nil
}

func decodeRemoved(v resp.Value) (uint64, error) {
	r, err := decodeResult(v)
	return r.Removed, err
}

func decodeHistory(v resp.Value) (History, error) {
	if !isMap(v) {
		return History{}, malformed("no map")
	}
	f, ok := v.Field("messages")
	if !ok {
		return History{}, malformed("no messages")
	}
	ms, err := decodeMessages(f)
	if err != nil {
		return History{}, err
	}
	metadata, _ := v.Field("metadata")
	meta, err := decodeMeta(metadata)
	return History{
		Messages: ms, Revision: uintOf(v, "revision"), Incarnation: uintOf(v, "incarnation"),
		First: uintOf(v, "first_seq"), Last: uintOf(v, "last_seq"), Count: uintOf(v, "count"),
		More: uintOf(v, "more") != 0, Metadata: meta,
	}, err
}

// decodeMessages reads an array of [seq, time, id, payload].
func decodeMessages(v resp.Value) ([]turn.Message, error) {
	if v.Kind != resp.Array {
		return nil, malformed("messages are no array")
	}
	out := make([]turn.Message, 0, len(v.Elems))
	for _, e := range v.Elems {
		if len(e.Elems) != 4 {
			return nil, malformed("a message is not [seq, time, id, payload]")
		}
		t, _ := e.Elems[1].Int64()
		out = append(out, turn.Message{Seq: asUint(e.Elems[0]), Time: t, ID: e.Elems[2].Text(), Data: e.Elems[3].Str})
	}
	return out, nil
}

func decodeSession(v resp.Value, key turn.Key) (turn.Session, error) {
	if !isMap(v) {
		return turn.Session{}, malformed("no map")
	}
	metadata, _ := v.Field("metadata")
	m, err := decodeMeta(metadata)
	if name, ok := v.Field("key"); ok {
		key.Name = string(name.Str)
	}
	return turn.Session{
		Key: key, Incarnation: uintOf(v, "incarnation"), Count: uintOf(v, "count"), Bytes: uintOf(v, "bytes"),
		First: uintOf(v, "first_seq"), Last: uintOf(v, "last_seq"), Revision: uintOf(v, "revision"),
		Created: intOf(v, "created"), Updated: intOf(v, "updated"), Metadata: m,
		ExpiresAt: intOf(v, "expires_at"), Slide: intOf(v, "slide_ms"),
		Retention: turn.Retention{Messages: uintOf(v, "retain_messages"), Turns: uintOf(v, "retain_turns")},
	}, err
}

func decodeMeta(v resp.Value) (map[string]string, error) {
	if len(v.Elems) == 0 {
		return nil, nil
	}
	if !isMap(v) || len(v.Elems)%2 != 0 {
		return nil, malformed("metadata is no map")
	}
	m := make(map[string]string, len(v.Elems)/2)
	for i := 0; i < len(v.Elems); i += 2 {
		m[string(v.Elems[i].Str)] = string(v.Elems[i+1].Str)
	}
	return m, nil
}

// decodeSessions reads {cursor, sessions}.
func (c *Client) decodeSessions(v resp.Value) ([]turn.Session, string, error) {
	cursor, _ := v.Field("cursor")
	list, ok := v.Field("sessions")
	if !ok {
		return nil, "", malformed("no sessions")
	}
	out := make([]turn.Session, 0, len(list.Elems))
	for _, e := range list.Elems {
		s, err := decodeSession(e, turn.Key{Namespace: c.cfg.Namespace})
		if err != nil {
			return nil, "", err
		}
		out = append(out, s)
	}
	return out, string(cursor.Str), nil
}
