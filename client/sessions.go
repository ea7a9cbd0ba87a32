package client

import (
	"context"
	"iter"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// Sessions yields every session of the namespace whose key begins with prefix,
// in key order. Sessions that come or go meanwhile may be missed or seen. An
// error is the last thing yielded.
func (c *Client) Sessions(ctx context.Context, prefix string) iter.Seq2[turn.Session, error] {
	return func(yield func(turn.Session, error) bool) {
		for cursor := ""; ; {
			page, next, err := c.SessionsPage(ctx, prefix, cursor, 1000)
			if err != nil {
				yield(turn.Session{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

// SessionsPage returns up to limit sessions after cursor (empty: from the
// start), and the cursor of the next page, empty after the last.
func (c *Client) SessionsPage(ctx context.Context, prefix, cursor string, limit int) ([]turn.Session, string, error) {
	r := newRequest(vList)
	if prefix != "" {
		r.strings("PREFIX", prefix)
	}
	if cursor != "" {
		r.strings("CURSOR", cursor)
	}
	v, err := c.do(ctx, r.strings("LIMIT").int(int64(limit)))
	if err != nil {
		return nil, "", err
	}
	return c.decodeSessions(v)
}

// Erase deletes every session of the namespace whose key begins with prefix and
// returns how many there were. It is not atomic: a session created meanwhile may
// stay. The prefix must not be empty: see EraseAll.
func (c *Client) Erase(ctx context.Context, prefix string) (uint64, error) {
	if prefix == "" {
		return 0, turn.Errorf(turn.Invalid,
			"erase: the prefix is empty, which would delete every session of the namespace: EraseAll does that; "+
				"nothing was deleted")
	}
	return c.erase(ctx, newRequest(vErase).strings("PREFIX", prefix))
}

// EraseAll is Erase of every session of the namespace.
func (c *Client) EraseAll(ctx context.Context) (uint64, error) {
	return c.erase(ctx, newRequest(vErase).strings("PREFIX", "", "ALL"))
}

func (c *Client) erase(ctx context.Context, r *request) (uint64, error) {
	attempt := func(ctx context.Context, n *node, r *request) (v resp.Value, err error) {
		err = c.onOwnConnection(ctx, n, 0, func(own *conn) error {
			v, err = own.roundTrip(ctx, n, r)
			return err
		})
		return v, err
	}
	v, err := c.retry(ctx, r, attempt)
	if err != nil {
		return 0, err
	}
	return decodeRemoved(v)
}
