package client

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// Transaction changes several keys of the namespace atomically: either all of its steps take place, in
// their order and with nothing in between, or none does. Its methods collect conditions and steps
// without sending them; Commit sends them. A Transaction must not be used by several goroutines at
// once.
//
// A step sees the changes of the steps before it; conditions refer to the state before the first step.
// Within a transaction, a key holds either messages and metadata, or fields, unless Delete comes in
// between.
//
// Slices and maps are copied, and so may be used again for the next step. Payloads and values, as Message.Data, are
// not: they must stay as they are until Commit has returned for the last time.
//
// Steps that depend on which messages a session holds come before those that change that: see turn.Tx.All.
type Transaction struct {
	c  *Client
	tx turn.Tx
}

// Transaction returns an empty transaction.
func (c *Client) Transaction() *Transaction {
	return &Transaction{c: c, tx: turn.Tx{All: true}}
}

// ID gives the transaction an id, by which, with the keys of its steps and conditions, it is recognised for
// turn.TransactionTime: over other keys it is another one. Without it, Commit generates one.
func (t *Transaction) ID(id string) *Transaction {
	t.tx.ID = id
	return t
}

// IfRevision requires that a key has the given revision; 0: that there is no such key.
func (t *Transaction) IfRevision(key string, revision uint64) *Transaction {
	return t.require(key, turn.AtRevision, revision)
}

// IfSeq requires that seq is the highest seq ever assigned in a session; 0: that none was.
func (t *Transaction) IfSeq(key string, seq uint64) *Transaction {
	return t.require(key, turn.AtSeq, seq)
}

// IfExists requires that a key exists.
func (t *Transaction) IfExists(key string) *Transaction { return t.require(key, turn.Present, 0) }

// IfAbsent requires that a key does not exist.
func (t *Transaction) IfAbsent(key string) *Transaction { return t.require(key, turn.Absent, 0) }

func (t *Transaction) require(key string, is turn.ConditionIs, n uint64) *Transaction {
	t.tx.Conditions = append(t.tx.Conditions, turn.Condition{Key: t.key(key), Is: is, N: n})
	return t
}

// Append adds messages at the end of a session. A message without an id gets none: the transaction's id
// keeps it from being appended twice. If a message with an id was appended before, by another call, the
// error is turn.Conflict.
func (t *Transaction) Append(key string, messages ...turn.NewMessage) *Transaction {
	return t.step(&turn.Append{Key: t.key(key), Messages: slices.Clone(messages)})
}

// SetMetadata merges set into a session's metadata and removes the keys in unset, creating the
// session if needed.
func (t *Transaction) SetMetadata(key string, set map[string]string, unset ...string) *Transaction {
	return t.step(&turn.SetMetadata{Key: t.key(key), Set: maps.Clone(set), Unset: slices.Clone(unset)})
}

// SetFields sets fields of a hash, creating it if needed.
func (t *Transaction) SetFields(key string, fields ...turn.Field) *Transaction {
	return t.step(&turn.SetFields{Key: t.key(key), Type: turn.TypeHash, Fields: slices.Clone(fields)})
}

// RemoveFields removes fields of a hash. A hash without fields does not exist.
func (t *Transaction) RemoveFields(key string, names ...string) *Transaction {
	return t.step(&turn.RemoveFields{Key: t.key(key), Type: turn.TypeHash, Names: slices.Clone(names)})
}

// Replace removes the messages of a session, which must exist, with a seq of at least from, and appends others.
// What Append says of ids holds here, too.
func (t *Transaction) Replace(key string, from uint64, messages ...turn.NewMessage) *Transaction {
	return t.step(&turn.Replace{Key: t.key(key), From: from, Messages: slices.Clone(messages)})
}

// Pop removes up to n messages from one side of a session: see Session.Pop. The step's Result has them. It
// comes before all other steps that change the session's messages. In one transaction, pops take out
// turn.MaxPopped bytes at most.
func (t *Transaction) Pop(key string, n int, from turn.Side) *Transaction {
	return t.step(&turn.Pop{Key: t.key(key), From: from, Count: uint64(max(n, 0))})
}

// Edit gives a message of a session another payload. The message is one that the session holds before the
// transaction: steps that add or remove others come after this one.
func (t *Transaction) Edit(key string, message turn.MessageRef, data []byte) *Transaction {
	return t.step(&turn.EditMessage{Key: t.key(key), Message: message, Data: data})
}

// Remove removes a message of a session, if it is there. It comes where Edit may.
func (t *Transaction) Remove(key string, message turn.MessageRef) *Transaction {
	return t.step(&turn.RemoveMessage{Key: t.key(key), Message: message})
}

// Retain sets how much a session keeps by itself from here on, creating it if needed. With turns, it comes
// before all other steps that change the session's messages.
func (t *Transaction) Retain(key string, keep turn.Retention) *Transaction {
	return t.step(&turn.Retain{Key: t.key(key), Keep: keep})
}

// RetainAll has a session keep all its messages from here on.
func (t *Transaction) RetainAll(key string) *Transaction {
	return t.step(&turn.Retain{Key: t.key(key), All: true})
}

// Rename moves what a key holds to another key: see Session.Rename. Neither is a key of another step.
func (t *Transaction) Rename(key, to string, replace bool) *Transaction {
	return t.step(&turn.Rename{Key: t.key(key), To: t.key(to), Replace: replace})
}

// TrimKeep removes all but the n newest messages of a session.
func (t *Transaction) TrimKeep(key string, n uint64) *Transaction {
	return t.step(&turn.Trim{Key: t.key(key), N: n})
}

// TrimBefore removes the messages of a session with a seq below seq.
func (t *Transaction) TrimBefore(key string, seq uint64) *Transaction {
	return t.step(&turn.Trim{Key: t.key(key), By: turn.BeforeSeq, N: seq})
}

// Clear removes all messages of a session.
func (t *Transaction) Clear(key string) *Transaction { return t.step(&turn.Clear{Key: t.key(key)}) }

// Delete removes a key, whatever it holds.
func (t *Transaction) Delete(key string) *Transaction {
	return t.step(&turn.Delete{Keys: []turn.Key{t.key(key)}})
}

// Expire has a key deleted when d has passed in cluster time. With slide, which is only for sessions,
// every later append restarts that time.
func (t *Transaction) Expire(key string, d time.Duration, slide bool) *Transaction {
	return t.step(&turn.Expire{Key: t.key(key), HasTTL: true, TTL: millis(d), Slide: slide})
}

// Persist removes the deadline of a key.
func (t *Transaction) Persist(key string) *Transaction {
	return t.step(&turn.Expire{Key: t.key(key)})
}

func (t *Transaction) step(op turn.Op) *Transaction {
	t.tx.Steps = append(t.tx.Steps, turn.Step{Op: op})
	return t
}

func (t *Transaction) key(name string) turn.Key {
	return turn.Key{Namespace: t.c.cfg.Namespace, Name: name}
}

// Commit carries out the transaction. It returns Revision, that of the namespace's last change; Steps,
// each with the Result that the call of a Session or Hash would return (for SetFields: Number, how many
// fields are new); and Duplicate, if the transaction had been carried out by an earlier call with the
// same id, or by an attempt of this call whose answer was lost: the Result is then the original one.
//
// If a condition does not hold, the error is turn.Conflict. The error's Condition or Step, counted from
// 1, says which one failed. After an error of kind turn.Unknown, Commit may be called again: it sends
// the same id.
func (t *Transaction) Commit(ctx context.Context) (turn.Result, error) {
	if t.tx.ID == "" {
		t.tx.ID = t.c.cfg.NewID()
	}
	if err := t.tx.Validate(t.c.limits); err != nil {
		return turn.Result{}, err
	}
	v, err := t.c.do(ctx, t.request())
	if err != nil {
		return turn.Result{}, err
	}
	return t.decode(v)
}

func (t *Transaction) request() *request {
	r := newRequest(vTx).strings("ID", t.tx.ID)
	for _, c := range t.tx.Conditions {
		r.strings("IF", c.Key.Name)
		switch c.Is {
		case turn.AtRevision:
			r.strings("REVISION").uint(c.N)
		case turn.AtSeq:
			r.strings("SEQ").uint(c.N)
		case turn.Present:
			r.strings("EXISTS")
		case turn.Absent:
			r.strings("ABSENT")
		}
	}
	for _, s := range t.tx.Steps {
		step := stepRequest(s.Op)
		r.strings("STEP").int(int64(step.args))
		r.args, r.body = r.args+step.args, append(r.body, step.body...)
	}
	return r
}

func (t *Transaction) decode(v resp.Value) (turn.Result, error) {
	r, err := decodeResult(v)
	steps, _ := v.Field("steps")
	if err == nil && len(steps.Elems) != len(t.tx.Steps) {
		err = malformed("the steps of a transaction are missing")
	}
	if err != nil {
		return turn.Result{}, err
	}
	r.Steps = make([]turn.Outcome, len(steps.Elems))
	for i, e := range steps.Elems {
		out := &r.Steps[i].Result
		if *out, err = decodeResult(e); err != nil {
			return turn.Result{}, err
		}
		if _, sets := t.tx.Steps[i].Op.(*turn.SetFields); sets {
			out.Number, out.Removed = int64(out.Removed), 0
		}
	}
	return r, nil
}
