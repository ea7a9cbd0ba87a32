package workload

import (
	"context"
	"iter"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/testcluster"
	"github.com/turnlog/turnlog/turn"
)

// nativeAPI goes through the Go client.
type nativeAPI struct {
	addrs    []string
	entry    testcluster.Entry
	retryFor time.Duration
	follow   bool

	clients map[string]*client.Client // by namespace
}

func (d *nativeAPI) client(namespace string) (*client.Client, error) {
	if c := d.clients[namespace]; c != nil {
		return c, nil
	}
	c, err := client.New(client.Config{Addrs: d.addrs, Namespace: namespace, RetryFor: d.retryFor,
		FollowLeader: d.follow, Conns: 1,
		Username: d.entry.User, Password: d.entry.Password, TLS: d.entry.TLS})
	if err != nil {
		return nil, err
	}
	if d.clients == nil {
		d.clients = map[string]*client.Client{}
	}
	d.clients[namespace] = c
	return c, nil
}

func (d *nativeAPI) Close() {
	for _, c := range d.clients {
		c.Close()
	}
	d.clients = nil
}

func (d *nativeAPI) Do(ctx context.Context, key turn.Key, c *history.Call) (history.Result, error) {
	cl, err := d.client(key.Namespace)
	if err != nil {
		return history.Result{}, err
	}
	s := cl.Session(key.Name)
	if c.Expect != nil {
		s = s.Expect(*c.Expect)
	}
	if c.TTL > 0 {
		s = s.TTL(time.Duration(c.TTL) * time.Millisecond)
	}
	switch {
	case c.MaxAge > 0:
		s = s.Bounded(time.Duration(c.MaxAge) * time.Millisecond)
	case c.Stale:
		s = s.Stale()
	}
	switch c.Func {
	case history.Read:
		return readNative(ctx, s, c)
	case history.Append:
		r, err := s.Append(ctx, newMessages(c)...)
		return history.Result{First: r.First, Last: r.Last, Revision: r.Revision, Count: r.Count,
			Duplicate: r.Duplicate}, err
	case history.Replace:
		r, err := s.Replace(ctx, c.Seq, newMessages(c)...)
		return history.Result{First: r.First, Last: r.Last, Revision: r.Revision, Count: r.Count,
			Duplicate: r.Duplicate,
			Removed:   r.Removed}, err
	case history.Pop:
		end := turn.Newest
		if c.Oldest {
			end = turn.Head
		}
		ms, err := s.Pop(ctx, int(c.N), end)
		return history.Result{Messages: messages(ms)}, err
	case history.Trim:
		r, err := s.TrimKeep(ctx, c.N)
		return history.Result{Removed: r.Removed, Count: r.Count, Revision: r.Revision}, err
	case history.Clear:
		r, err := s.Clear(ctx)
		return history.Result{Removed: r.Removed, Revision: r.Revision}, err
	case history.Delete:
		was, err := s.Delete(ctx)
		if was {
			return history.Result{Removed: 1}, err
		}
		return history.Result{}, err
	}
	return history.Result{}, unsupported(Native, c)
}

func newMessages(c *history.Call) []turn.NewMessage {
	out := make([]turn.NewMessage, len(c.Values))
	for i, v := range c.Values {
		out[i].Data = payload(v)
		if c.IDs {
			out[i].ID = v
		}
	}
	return out
}

func readNative(ctx context.Context, s client.Session, c *history.Call) (history.Result, error) {
	q := turn.Read{From: turn.FromAfter, Seq: c.Seq, Limit: int(c.N), Whole: c.Whole, Since: c.Since, Until: c.Until}
	if c.Latest {
		q.From, q.Seq = turn.FromLast, 0
	}
	h, err := s.Read(ctx, q)
	return history.Result{Last: h.Last, Revision: h.Revision, Count: h.Count, Incarnation: h.Incarnation,
		More: h.More, Messages: timedMessages(h.Messages, c.Timed)}, err
}

// tail follows a session as an application would.
func (d *nativeAPI) tail(ctx context.Context, key turn.Key, after uint64) iter.Seq2[history.Message, error] {
	return func(yield func(history.Message, error) bool) {
		cl, err := d.client(key.Namespace)
		if err != nil {
			yield(history.Message{}, err)
			return
		}
		for m, err := range cl.Session(key.Name).Tail(ctx, after) {
			if !yield(history.Message{Seq: m.Seq, Value: checkedToken(m.ID, m.Data)}, err) {
				return
			}
		}
	}
}
