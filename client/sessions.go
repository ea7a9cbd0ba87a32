package client

import (
	"context"
	"iter"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// Sessions yields every session of the namespace whose key begins with prefix, in key order. Sessions
// that are created or deleted in the meantime may or may not be included. An error is the last thing
// yielded.
func (c *Client) Sessions(ctx context.Context, prefix string) iter.Seq2[turn.Session, error] {
	return pages(func(cursor string) ([]turn.Session, string, error) {
		return c.SessionsPage(ctx, prefix, cursor, 1000)
	})
}

// SessionsPage returns up to limit sessions after cursor (empty: from the start), and the cursor of the
// next page, which is empty after the last page.
func (c *Client) SessionsPage(ctx context.Context, prefix, cursor string, limit int) ([]turn.Session, string, error) {
	return c.page(ctx, prefix, cursor, limit, nil)
}

func (c *Client) page(
	ctx context.Context, prefix, cursor string, limit int, labels []turn.Label,
) ([]turn.Session, string, error) {
	r := newRequest(vList)
	for _, l := range labels {
		r.strings("LABEL", l.Name, l.Value)
	}
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

// Labelled yields every session of the namespace that carries all these labels, the one that changed
// last first. For each label, the session's metadata has the key turn.LabelPrefix + name. Sessions that
// change in the meantime may be missed. An error is the last thing yielded.
func (c *Client) Labelled(ctx context.Context, labels ...turn.Label) iter.Seq2[turn.Session, error] {
	return pages(func(cursor string) ([]turn.Session, string, error) {
		return c.LabelledPage(ctx, "", cursor, 1000, labels...)
	})
}

// LabelledPage returns up to limit sessions that carry all these labels and whose key begins with
// prefix, after cursor (empty: from the start), and the cursor of the next page, which is empty after
// the last page. A page shows one moment. A page before the last one can be short, or empty.
func (c *Client) LabelledPage(
	ctx context.Context, prefix, cursor string, limit int, labels ...turn.Label,
) ([]turn.Session, string, error) {
	if len(labels) == 0 {
		return nil, "", turn.Errorf(turn.Invalid, "no labels to find sessions by; SessionsPage lists all sessions")
	}
	return c.page(ctx, prefix, cursor, limit, labels)
}

// pages yields what the pages of a list have.
func pages(page func(cursor string) ([]turn.Session, string, error)) iter.Seq2[turn.Session, error] {
	return func(yield func(turn.Session, error) bool) {
		for cursor := ""; ; {
			sessions, next, err := page(cursor)
			if err != nil {
				yield(turn.Session{}, err)
				return
			}
			for _, s := range sessions {
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

// Erase deletes every session of the namespace whose key begins with prefix, and returns how many it
// deleted. It is not atomic: a session that is created in the meantime may stay. The prefix must not be
// empty: see EraseAll. Only ctx and Close bound how long it takes.
func (c *Client) Erase(ctx context.Context, prefix string) (uint64, error) {
	if prefix == "" {
		return 0, turn.Errorf(turn.Invalid,
			"erase: the prefix is empty, which would delete every session of the namespace: EraseAll does that; "+
				"nothing was deleted")
	}
	return c.erase(ctx, newRequest(vErase).strings("PREFIX", prefix))
}

// EraseAll deletes every session of the namespace, as Erase does.
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
