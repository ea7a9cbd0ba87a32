package redis

import (
	"bytes"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// push makes the handler of RPUSH, LPUSH, RPUSHX, LPUSHX.
func push(side turn.Side, onlyExisting bool) handler {
	return func(c *conn, args [][]byte) Action {
		k := c.key(args[1])
		ms := c.payloads(args[2:])
		var op turn.Op = &turn.Append{Key: k, Messages: ms, Side: side, OnlyExisting: onlyExisting}
		if c.srv.cfg.IDPaths.identify(c.namespace, ms) {
			op = &turn.PushOnce{Key: k, Messages: ms, Side: side, OnlyExisting: onlyExisting}
		}
		return write(k, op, func(w *resp.Writer, r turn.Result) { counted(w, r.Count) })
	}
}

// pop makes the handler of LPOP and RPOP.
func pop(side turn.Side) handler {
	return func(c *conn, args [][]byte) Action {
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
			return errArity(string(lower(nil, args[0])))
		}
		n, ok := parseCount(args[2])
		switch {
		case !ok:
			return errNotPositive
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
func (c *conn) popNone(k turn.Key) Action {
	return c.read(k, &turn.Info{Key: k}, func(r turn.Result) (Reply, error) {
		switch {
		case !exists(r):
			return (*resp.Writer).NullArray, nil
		case r.Session.Type != turn.TypeList:
			return nil, errWrongType
		}
		return func(w *resp.Writer) { w.Array(0) }, nil
	})
}

func writePayloads(w *resp.Writer, ms []turn.Message) {
	w.Array(len(ms))
	for i := range ms {
		w.Bulk(ms[i].Data)
	}
}

// lindex looks at the index only if there is a list, as Redis does.
func lindex(c *conn, args [][]byte) Action {
	i, ok := parseInt(args[2])
	k := c.key(args[1])
	return c.read(k, &turn.List{Key: k, Start: i, Stop: i}, func(r turn.Result) (Reply, error) {
		switch {
		case !ok && exists(r):
			return nil, errNotInteger
		case !ok || len(r.Messages) == 0:
			return (*resp.Writer).Null, nil
		}
		return func(w *resp.Writer) { w.Bulk(r.Messages[0].Data) }, nil
	})
}

func ltrim(c *conn, args [][]byte) Action {
	start, ok1 := parseInt(args[2])
	stop, ok2 := parseInt(args[3])
	if !ok1 || !ok2 {
		return errNotInteger
	}
	k := c.key(args[1])
	op := &turn.Trim{Key: k, By: turn.ListRange, Start: start, Stop: stop}
	return write(k, op, func(w *resp.Writer, _ turn.Result) { w.Status("OK") })
}

// lrange is never cut: the engine refuses a range that exceeds Limits.ReadBytes.
func lrange(c *conn, args [][]byte) Action {
	start, ok1 := parseInt(args[2])
	stop, ok2 := parseInt(args[3])
	if !ok1 || !ok2 {
		return errNotInteger
	}
	k := c.key(args[1])
	a := c.read(k, &turn.List{Key: k, Start: start, Stop: stop}, func(r turn.Result) (Reply, error) {
		return func(w *resp.Writer) { writePayloads(w, r.Messages) }, nil
	})
	a.Bulky = true
	return a
}

// lset looks at the index only if there is a list, as Redis does.
func lset(c *conn, args [][]byte) Action {
	k := c.key(args[1])
	i, ok := parseInt(args[2])
	if !ok {
		return c.read(k, infoOf(k), func(r turn.Result) (Reply, error) {
			switch {
			case !exists(r):
				return nil, errNoSuchKey
			case r.Session.Type != turn.TypeList:
				return nil, errWrongType
			}
			return nil, errNotInteger
		})
	}
	op := &turn.SetElement{Key: k, Index: i, Data: c.payload(args[3])}
	return write(k, op, func(w *resp.Writer, _ turn.Result) { w.Status("OK") })
}

func linsert(c *conn, args [][]byte) Action {
	after := is(args[2], "AFTER")
	if !after && !is(args[2], "BEFORE") {
		return errSyntax
	}
	k := c.key(args[1])
	op := &turn.InsertElement{Key: k, Pivot: bytes.Clone(args[3]), After: after, Data: c.payload(args[4])}
	return write(k, op, func(w *resp.Writer, r turn.Result) { w.Int(r.Number) })
}

func lrem(c *conn, args [][]byte) Action {
	n, ok := parseInt(args[2])
	if !ok {
		return errNotInteger
	}
	k := c.key(args[1])
	op := &turn.RemoveElements{Key: k, Count: n, Data: bytes.Clone(args[3])}
	return write(k, op, func(w *resp.Writer, r turn.Result) { counted(w, r.Removed) })
}
