package workload

import (
	"bytes"
	"context"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// wholeAPI does everything in transactions that take place as a whole. A session is three
// keys: a session, another one, to which the same is appended, and a hash, of which a field is the last
// message. Whenever they are seen together they must agree. Its messages have no ids: what keeps a call that is
// made again from taking place twice is the id of the transaction.
type wholeAPI struct {
	reads  respAPI
	native nativeAPI
}

func (d *wholeAPI) Close() {
	d.reads.Close()
	d.native.Close()
}

const lastField = "last"

func wholeKeys(key turn.Key) (twin, state string) { return key.Name + ".twin", key.Name + ".state" }

func (d *wholeAPI) Do(ctx context.Context, key turn.Key, c *history.Call) (history.Result, error) {
	switch c.Func {
	case history.Append:
		return d.append(ctx, key, c)
	case history.Read:
		return d.read(ctx, key)
	}
	return history.Result{}, unsupported(WHOLE, c)
}

func (d *wholeAPI) append(ctx context.Context, key turn.Key, c *history.Call) (history.Result, error) {
	cl, err := d.native.client(key.Namespace)
	if err != nil {
		return history.Result{}, err
	}
	twin, state := wholeKeys(key)
	tx, r := cl.Transaction(), history.Result{}
	if c.IDs {
		tx.ID(c.Values[0])
	}
	if c.Watch {
		h, err := cl.Session(key.Name).Last(ctx, 1)
		if err != nil {
			return r, turn.Errorf(turn.Unavailable, "the read before it: %v", err) // nothing was sent
		}
		r.Watched = h.Count + 1
		// One of three conditions, of which the last ones alone may fail.
		tx.IfSeq(key.Name, h.Last).IfSeq(twin, h.Last)
		if h.Last == 0 {
			tx.IfAbsent(state)
		} else {
			tx.IfExists(state)
		}
	}
	ms := make([]turn.NewMessage, len(c.Values))
	for i, v := range c.Values {
		ms[i].Data = payload(v)
	}
	last := turn.Field{Name: lastField, Value: ms[len(ms)-1].Data}
	res, err := tx.Append(key.Name, ms...).SetFields(state, last).Append(twin, ms...).Commit(ctx)
	if err != nil {
		return r, err
	}
	one, other := res.Steps[0].Result, res.Steps[2].Result
	if one.First != other.First || one.Last != other.Last || one.Count != other.Count {
		return apart("appended as %d to %d, and as %d to %d", one.First, one.Last, other.First, other.Last), nil
	}
	r.First, r.Last, r.Count, r.Duplicate = one.First, one.Last, one.Count, res.Duplicate
	r.Revision = one.Revision
	return r, nil
}

func (d *wholeAPI) read(ctx context.Context, key turn.Key) (history.Result, error) {
	twin, state := wholeKeys(key)
	v, err := d.reads.exec(ctx, key.Namespace, false, [][]string{{"LRANGE", key.Name, "0", "-1"},
		{"LRANGE", twin, "0", "-1"}, {"HGET", state, lastField}})
	if err != nil {
		return history.Result{}, err
	}
	if len(v.Elems) != 3 {
		return apart("EXEC has %d answers", len(v.Elems)), nil
	}
	one, other, last := v.Elems[0].Elems, v.Elems[1].Elems, v.Elems[2].Str
	if len(one) != len(other) {
		return apart("one session has %d messages, the other %d", len(one), len(other)), nil
	}
	r := history.Result{Count: uint64(len(one)), Last: uint64(len(one))}
	for i := range one {
		if !bytes.Equal(one[i].Str, other[i].Str) {
			return apart("message %d is %s in one session and %s in the other", i+1, token(one[i].Str),
				token(other[i].Str)), nil
		}
		r.Messages = append(r.Messages, history.Message{Seq: uint64(i) + 1, Value: token(one[i].Str)})
	}
	if n := len(one); n > 0 && !bytes.Equal(one[n-1].Str, last) {
		return apart("the last message is %s, the state tells of %s", token(one[n-1].Str), token(last)), nil
	}
	return r, nil
}
