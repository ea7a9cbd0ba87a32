package client

import (
	"context"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// Hash is a handle on the hash of one key, for state beside the messages that is too large for
// metadata: each field has up to 8 MiB. Making one sends nothing. A Transaction changes hashes and
// sessions together.
type Hash struct {
	c   *Client
	key string
}

// Hash returns a handle on the hash of that key, which must not be the key of a session that has messages.
func (c *Client) Hash(key string) Hash { return Hash{c: c, key: key} }

// Set sets fields, creating the hash if needed; Result.Number says how many are new. It is a
// transaction of one step, so it is retried safely if an answer is lost.
func (h Hash) Set(ctx context.Context, fields ...turn.Field) (turn.Result, error) {
	return only(h.c.Transaction().SetFields(h.key, fields...).Commit(ctx))
}

// Remove removes fields; Result.Removed says how many existed. A hash without fields does not exist.
// Like Set, it is retried safely.
func (h Hash) Remove(ctx context.Context, names ...string) (turn.Result, error) {
	return only(h.c.Transaction().RemoveFields(h.key, names...).Commit(ctx))
}

// only makes the answer to a transaction that of its one step.
func only(r turn.Result, err error) (turn.Result, error) {
	if err != nil {
		return turn.Result{}, err
	}
	one := r.Steps[0].Result
	one.Revision, one.Duplicate = r.Revision, r.Duplicate
	return one, nil
}

// Get returns those of the named fields that exist.
func (h Hash) Get(ctx context.Context, names ...string) (map[string][]byte, error) {
	if len(names) == 0 {
		return nil, turn.Errorf(turn.Invalid, "no fields to get")
	}
	v, err := h.c.do(ctx, newRequest(vGetFields).strings(h.key).strings(names...))
	if err != nil {
		return nil, err
	}
	if len(v.Elems) != len(names) {
		return nil, malformed("it has another number of fields")
	}
	fields := make(map[string][]byte, len(names))
	for i, e := range v.Elems {
		if !e.IsNull() {
			fields[names[i]] = e.Str
		}
	}
	return fields, nil
}

// All returns all fields, none if there is no such hash. If they are larger than the server's
// turn.Limits.ReadBytes, the error is of kind turn.TooLarge: use Get.
func (h Hash) All(ctx context.Context) (map[string][]byte, error) {
	v, err := h.c.do(ctx, newRequest(vAllFields).strings(h.key))
	if err != nil {
		return nil, err
	}
	return decodeFields(v)
}

func decodeFields(v resp.Value) (map[string][]byte, error) {
	if len(v.Elems)%2 != 0 {
		return nil, malformed("fields are no map")
	}
	fields := make(map[string][]byte, len(v.Elems)/2)
	for i := 0; i < len(v.Elems); i += 2 {
		fields[string(v.Elems[i].Str)] = v.Elems[i+1].Str
	}
	return fields, nil
}
