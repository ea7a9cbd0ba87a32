package redis

import (
	"context"

	"github.com/turnlog/turnlog/resp"
	"github.com/turnlog/turnlog/turn"
)

// push makes the handler of RPUSH, LPUSH, RPUSHX, LPUSHX.
func push(side turn.Side, onlyExisting bool) handler {
	return func(c *conn, args [][]byte) action {
		k := c.key(args[1])
		op := &turn.Append{Key: k, Messages: c.payloads(args[2:]), Side: side, OnlyExisting: onlyExisting}
		return write(k, op, func(w *resp.Writer, r turn.Result) { counted(w, r.Count) })
	}
}

// pop makes the handler of LPOP and RPOP.
func pop(side turn.Side) handler {
	return func(c *conn, args [][]byte) action {
		k := c.key(args[1])
		if len(args) == 2 {
			op := &turn.Pop{Key: k, From: side, Count: 1, List: true}
			return write(k, op, func(w *resp.Writer, r turn.Result) {
				if len(r.Messages) == 0 {
					w.Null()
					return
				}
				w.Bulk(r.Messages[0].Data)
			})
		}
		if len(args) > 3 {
			return refuse(errArity(string(lower(nil, args[0]))))
		}
		n, ok := parseCount(args[2])
		switch {
		case !ok:
			return refuse(errNotPositive)
		case n == 0:
			return c.popNone(k)
		}
		op := &turn.Pop{Key: k, From: side, Count: n, List: true}
		return write(k, op, func(w *resp.Writer, r turn.Result) {
			if len(r.Messages) == 0 {
				w.NullArray()
				return
			}
			writePayloads(w, r.Messages)
		})
	}
}

// popNone answers a pop of no elements: an empty array if the list exists.
func (c *conn) popNone(k turn.Key) action {
	return c.read(k, &turn.Info{Key: k}, func(r turn.Result) (reply, error) {
		if !exists(r) {
			return (*resp.Writer).NullArray, nil
		}
		return func(w *resp.Writer) { w.Array(0) }, nil
	})
}

// exists reports whether the session of an Info exists as Redis sees it.
func exists(r turn.Result) bool { return r.Session != nil && r.Session.Count > 0 }

func writePayloads(w *resp.Writer, ms []turn.Message) {
	w.Array(len(ms))
	for i := range ms {
		w.Bulk(ms[i].Data)
	}
}

func llen(c *conn, args [][]byte) action {
	k := c.key(args[1])
	return c.read(k, &turn.Info{Key: k}, func(r turn.Result) (reply, error) {
		if r.Session == nil {
			return sayInt(0), nil
		}
		return sayInt(r.Session.Count), nil
	})
}

// lindex looks at the index only if there is a list, as Redis does.
func lindex(c *conn, args [][]byte) action {
	i, ok := parseInt(args[2])
	k := c.key(args[1])
	return c.read(k, &turn.List{Key: k, Start: i, Stop: i}, func(r turn.Result) (reply, error) {
		switch {
		case !ok && exists(r):
			return nil, errNotInteger
		case !ok || len(r.Messages) == 0:
			return (*resp.Writer).Null, nil
		}
		return func(w *resp.Writer) { w.Bulk(r.Messages[0].Data) }, nil
	})
}

func ltrim(c *conn, args [][]byte) action {
	start, ok1 := parseInt(args[2])
	stop, ok2 := parseInt(args[3])
	if !ok1 || !ok2 {
		return refuse(errNotInteger)
	}
	k := c.key(args[1])
	op := &turn.Trim{Key: k, By: turn.ListRange, Start: start, Stop: stop}
	return write(k, op, func(w *resp.Writer, _ turn.Result) { w.Status("OK") })
}

func lrange(c *conn, args [][]byte) action {
	start, ok1 := parseInt(args[2])
	stop, ok2 := parseInt(args[3])
	if !ok1 || !ok2 {
		return refuse(errNotInteger)
	}
	k := c.key(args[1])
	return action{keys: []turn.Key{k}, work: func(ctx context.Context) (reply, error) {
		ms, err := c.srv.readList(ctx, turn.List{Key: k, Start: start, Stop: stop})
		return func(w *resp.Writer) { writePayloads(w, ms) }, err
	}}
}

// listTries is how often a long list is read anew because it changed meanwhile.
const listTries = 5

// readList reads a range of any length. The engine answers a long one in parts;
// they belong together if the session's revision is the same in all of them.
func (s *Server) readList(ctx context.Context, q turn.List) ([]turn.Message, error) {
	for range listTries {
		ms, ok, err := s.readListOnce(ctx, q)
		if ok || err != nil {
			return ms, err
		}
	}
	return nil, turn.Errorf(turn.Conflict, "the list changed %d times while its %d bytes or more were read; read it in parts, or with TURN.READ",
		listTries, s.engine.Limits().ReadBytes)
}

// readListOnce reports false if the list changed between two parts.
func (s *Server) readListOnce(ctx context.Context, q turn.List) (ms []turn.Message, ok bool, err error) {
	r, err := s.engine.Query(ctx, &q, linearizable)
	if err != nil || !r.More {
		return r.Messages, true, err
	}
	revision, size := r.Session.Revision, int64(0)
	if q.Start < 0 {
		q.Start = max(0, q.Start+int64(r.Session.Count))
	}
	for {
		for i := range r.Messages {
			size += int64(len(r.Messages[i].Data))
		}
		ms = append(ms, r.Messages...)
		if !r.More {
			return ms, true, nil
		}
		if size > s.cfg.ReplyBytes {
			return nil, false, turn.Errorf(turn.TooLarge, "the reply would be longer than %d bytes; ask for a part of the list, or use TURN.READ", s.cfg.ReplyBytes)
		}
		next := q
		next.Start += int64(len(ms))
		if r, err = s.engine.Query(ctx, &next, thisNode); err != nil {
			return nil, false, err
		}
		if r.Session == nil || r.Session.Revision != revision || len(r.Messages) == 0 {
			return nil, false, nil
		}
	}
}
