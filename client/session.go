package client

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// Session is a handle on the session of one key. Making one sends nothing. It is a value: Expect, TTL,
// Existing, Setting, WithMetadata, Bounded and Stale return a changed copy.
type Session struct {
	c      *Client
	key    string
	expect *uint64
	ttl    time.Duration
	exist  bool // appends demand an existing session
	set    map[string]string
	unset  []string
	meta   bool // reads return metadata
	fresh  turn.Consistency
}

// Session returns a handle on the session of that key, 1 to 512 arbitrary bytes.
func (c *Client) Session(key string) Session { return Session{c: c, key: key} }

// Key returns the session's key.
func (s Session) Key() string { return s.key }

// Expect makes the writes of the returned handle conditional: they take place only if the session's
// revision is still the given one (0: only if there is no such session); otherwise, the error is
// turn.Conflict. Every answer has the revision to expect next; see turn.Result.
//
// A retry of an append that has taken place is not a Conflict: message ids are checked first.
func (s Session) Expect(revision uint64) Session {
	s.expect = &revision
	return s
}

// TTL makes appends of the returned handle set the session's deadline to d from now, in cluster time.
// Fractions of a millisecond are rounded up; 0 is as without TTL.
func (s Session) TTL(d time.Duration) Session {
	s.ttl = d
	return s
}

// Existing makes appends of the returned handle fail with turn.NotFound if there is no such session.
func (s Session) Existing() Session {
	s.exist = true
	return s
}

// Setting makes appends of the returned handle change the session's metadata, atomically with the
// messages: set is merged into the metadata, and the keys in unset are removed. A retry of an append
// that has taken place changes nothing. The handle has copies of set and unset.
func (s Session) Setting(set map[string]string, unset ...string) Session {
	s.set, s.unset = maps.Clone(set), slices.Clone(unset)
	return s
}

// Append adds messages at the end of the session, all or none, and returns First, Last, Revision, Count
// and Duplicate. When it returns without an error, the messages are synced to disk on a majority of the
// nodes. A message without an id gets one. Duplicate means that the messages had been appended by an
// earlier call with the same ids, or by an attempt of this call whose answer was lost. First, Last and
// Revision are then those of that append, so Expect(Revision) fails if others have written since.
//
// If a message has the id of an earlier message but another payload, the error is turn.IDReused. If
// only some of the messages were appended before, it is a turn.Conflict that reading again does not
// resolve; see the package documentation.
func (s Session) Append(ctx context.Context, messages ...turn.NewMessage) (turn.Result, error) {
	r := s.request(vAppend)
	r.expect(s.expect)
	if s.ttl != 0 {
		r.strings("PX").int(millis(s.ttl))
	}
	if s.exist {
		r.strings("EXISTING")
	}
	r.metadata(s.set, s.unset)
	messages = s.c.withIDs(messages)
	op := &turn.Append{Key: s.turnKey(), Messages: messages, TTL: millis(s.ttl), MustExist: s.exist, Set: s.set,
		Unset: s.unset}
	return s.writeDecoded(ctx, r.messages(messages), op, decodeAppended)
}

// Replace removes every message with seq ≥ from and appends messages, atomically. The session must
// exist. It returns what Append returns, and Removed. Messages may have ids that were in use, but for those of
// messages that stay; only the same messages once more are a duplicate (turn.Replace says it all). Without messages,
// the call has no ids, so it is not retried if its answer is lost.
func (s Session) Replace(ctx context.Context, from uint64, messages ...turn.NewMessage) (turn.Result, error) {
	r := s.request(vReplace)
	r.strings("FROM").uint(from).expect(s.expect)
	if len(messages) == 0 {
		r.again = never
	}
	messages = s.c.withIDs(messages)
	return s.write(ctx, r.messages(messages), &turn.Replace{Key: s.turnKey(), From: from, Messages: messages})
}

// Pop removes and returns up to n messages from one side: turn.Newest takes the
// highest seqs first; turn.Tail and turn.Head are the ends of the Redis list.
func (s Session) Pop(ctx context.Context, n int, from turn.Side) ([]turn.Message, error) {
	op := &turn.Pop{Key: s.turnKey(), From: from, Count: uint64(max(n, 0))}
	res, err := s.write(ctx, s.request(vPop).popping(op).expect(s.expect), op)
	if err == nil && res.Messages == nil {
		err = malformed("the messages are missing")
	}
	return res.Messages, err
}

// TrimKeep removes all but the n newest messages; Result.Removed says how many.
func (s Session) TrimKeep(ctx context.Context, n uint64) (turn.Result, error) {
	r := s.request(vTrim)
	return s.write(ctx, r.strings("KEEP").uint(n).expect(s.expect), &turn.Trim{Key: s.turnKey(), N: n})
}

// TrimBefore removes the messages with a seq below seq.
func (s Session) TrimBefore(ctx context.Context, seq uint64) (turn.Result, error) {
	r := s.request(vTrim)
	return s.write(ctx, r.strings("BEFORE").uint(seq).expect(s.expect), &turn.Trim{Key: s.turnKey(), N: seq})
}

// Clear removes all messages, and keeps the session, its metadata and its numbering. If there is no
// session, it removes nothing, without an error.
func (s Session) Clear(ctx context.Context) (turn.Result, error) {
	return s.write(ctx, s.request(vClear).expect(s.expect), &turn.Clear{Key: s.turnKey()})
}

// Delete removes the session and reports whether there was one.
func (s Session) Delete(ctx context.Context) (bool, error) {
	op := &turn.Delete{Keys: []turn.Key{s.turnKey()}}
	res, err := s.write(ctx, s.request(vDelete).expect(s.expect), op)
	return res.Removed > 0, err
}

// Fork copies the messages with seq ≤ at (0: all) and the metadata into the session to. If that exists,
// the error is turn.Exists.
func (s Session) Fork(ctx context.Context, to string, at uint64) (turn.Result, error) {
	op := &turn.Fork{Key: s.turnKey(), To: turn.Key{Namespace: s.c.cfg.Namespace, Name: to}, At: at}
	r := s.request(vFork).strings(to)
	if at > 0 {
		r.strings("AT").uint(at)
	}
	return s.write(ctx, r.expect(s.expect), op)
}

// Rename moves all of the session to the key to, which must not exist: else the error is turn.Exists. With
// replace, what to holds is deleted first. If there is no session, the error is turn.NotFound. Messages keep
// their seqs and ids; a retried append to the former key is still recognised. Count and Revision are those of to.
func (s Session) Rename(ctx context.Context, to string, replace bool) (turn.Result, error) {
	op := &turn.Rename{Key: s.turnKey(), To: turn.Key{Namespace: s.c.cfg.Namespace, Name: to}, Replace: replace}
	return s.write(ctx, s.request(vRename).renaming(op).expect(s.expect), op)
}

// SetMetadata merges set into the session's metadata and removes the keys in unset,
// creating the session if needed.
func (s Session) SetMetadata(ctx context.Context, set map[string]string, unset ...string) (turn.Result, error) {
	r := s.request(vSetMeta)
	if len(set)+len(unset) == 0 {
		return turn.Result{}, turn.Errorf(turn.Invalid, "no metadata to set or unset")
	}
	return s.write(ctx, r.metadata(set, unset).expect(s.expect),
		&turn.SetMetadata{Key: s.turnKey(), Set: set, Unset: unset})
}

// Expire has the session deleted when d has passed in cluster time. With slide, every later append
// restarts that time. It reports whether there was such a session.
func (s Session) Expire(ctx context.Context, d time.Duration, slide bool) (bool, error) {
	r := s.request(vExpire).strings("PX").int(millis(d))
	if slide {
		r.strings("SLIDE")
	}
	return s.changed(ctx, r, &turn.Expire{Key: s.turnKey(), HasTTL: true, TTL: millis(d), Slide: slide})
}

// ExpireAt has the session deleted when cluster time reaches t. It reports whether there was such a
// session.
func (s Session) ExpireAt(ctx context.Context, t time.Time) (bool, error) {
	at := unixMilli(t)
	r := s.request(vExpire).strings("PXAT").int(at)
	return s.changed(ctx, r, &turn.Expire{Key: s.turnKey(), HasAt: true, At: at})
}

// Persist removes the session's deadline and reports whether it had one.
func (s Session) Persist(ctx context.Context) (bool, error) {
	return s.changed(ctx, s.request(vExpire).strings("NEVER"), &turn.Expire{Key: s.turnKey()})
}

// Retain sets how much the session keeps by itself from here on, creating it if needed, and drops what is
// beyond that at once. The zero Retention is refused: see RetainAll. Removed tells how many messages it dropped.
func (s Session) Retain(ctx context.Context, keep turn.Retention) (turn.Result, error) {
	op := &turn.Retain{Key: s.turnKey(), Keep: keep}
	return s.write(ctx, s.request(vRetain).retention(op).expect(s.expect), op)
}

// RetainAll has the session keep all its messages from here on. It creates none.
func (s Session) RetainAll(ctx context.Context) (turn.Result, error) {
	op := &turn.Retain{Key: s.turnKey(), All: true}
	return s.write(ctx, s.request(vRetain).retention(op).expect(s.expect), op)
}

func (s Session) changed(ctx context.Context, r *request, op turn.Op) (bool, error) {
	res, err := s.write(ctx, r.expect(s.expect), op)
	return res.Removed > 0, err
}

func (s Session) turnKey() turn.Key { return turn.Key{Namespace: s.c.cfg.Namespace, Name: s.key} }

// write refuses what no server can accept, sends r, and reads the answer.
func (s Session) write(ctx context.Context, r *request, op turn.Op) (turn.Result, error) {
	return s.writeDecoded(ctx, r, op, decodeResult)
}

func (s Session) writeDecoded(
	ctx context.Context, r *request, op turn.Op, decode func(resp.Value) (turn.Result, error),
) (turn.Result, error) {
	if err := op.Validate(s.c.limits); err != nil {
		return turn.Result{}, err
	}
	v, err := s.c.do(ctx, r)
	if err != nil {
		return turn.Result{}, err
	}
	return decode(v)
}

// millis rounds away from zero, so that a ttl never ends early.
func millis(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > 0 && time.Duration(ms)*time.Millisecond < d {
		ms++
	}
	return ms
}

// unixMilli is t.UnixMilli, but the nearest there is for a time that is out of its range.
func unixMilli(t time.Time) int64 {
	switch s := t.Unix(); {
	case s >= math.MaxInt64/1000:
		return math.MaxInt64
	case s <= math.MinInt64/1000:
		return math.MinInt64
	}
	return t.UnixMilli()
}

// withIDs returns messages with an id for each; the caller's slice stays as it is.
func (c *Client) withIDs(messages []turn.NewMessage) []turn.NewMessage {
	out := make([]turn.NewMessage, len(messages))
	copy(out, messages)
	for i := range out {
		if out[i].ID == "" {
			out[i].ID = c.cfg.NewID()
		}
	}
	return out
}
