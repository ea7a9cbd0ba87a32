package command

import (
	"bytes"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// push makes the handler of RPUSH, LPUSH, RPUSHX, LPUSHX.
func push(side turn.Side, onlyExisting bool) Handler {
	return func(req *Request, args [][]byte) Action {
		k := req.key(args[1])
		ms := req.payloads(args[2:])
		var op turn.Op = &turn.Append{Key: k, Messages: ms, Side: side, OnlyExisting: onlyExisting}
		if req.Backend.idPaths.Identify(req.Namespace, ms) {
			op = &turn.PushOnce{Key: k, Messages: ms, Side: side, OnlyExisting: onlyExisting}
		}
		return write(k, op, func(w *resp.Writer, r turn.Result) { counted(w, r.Count) })
	}
}

// pop makes the handler of LPOP and RPOP.
func pop(side turn.Side) Handler {
	return func(req *Request, args [][]byte) Action {
		k := req.key(args[1])
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
			return ErrArity(string(lower(nil, args[0])))
		}
		n, ok := parseCount(args[2])
		switch {
		case !ok:
			return errNotPositive
		case n == 0:
			return req.popNone(k)
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
func (req *Request) popNone(k turn.Key) Action {
	return req.read(k, &turn.Info{Key: k}, func(r turn.Result) (Reply, error) {
		switch {
		case !exists(r):
			return (*resp.Writer).NullArray, nil
		case r.Session.Type != turn.TypeList:
			return nil, ErrWrongType
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
func lindex(req *Request, args [][]byte) Action {
	i, ok := ParseInt(args[2])
	k := req.key(args[1])
	return req.read(k, &turn.List{Key: k, Start: i, Stop: i}, func(r turn.Result) (Reply, error) {
		switch {
		case !ok && exists(r):
			return nil, ErrNotInteger
		case !ok || len(r.Messages) == 0:
			return (*resp.Writer).Null, nil
		}
		return func(w *resp.Writer) { w.Bulk(r.Messages[0].Data) }, nil
	})
}

func ltrim(req *Request, args [][]byte) Action {
	start, ok1 := ParseInt(args[2])
	stop, ok2 := ParseInt(args[3])
	if !ok1 || !ok2 {
		return ErrNotInteger
	}
	k := req.key(args[1])
	op := &turn.Trim{Key: k, By: turn.ListRange, Start: start, Stop: stop}
	return write(k, op, func(w *resp.Writer, _ turn.Result) { w.Status("OK") })
}

// lrange is never cut: the engine refuses a range that exceeds Limits.ReadBytes.
func lrange(req *Request, args [][]byte) Action {
	start, ok1 := ParseInt(args[2])
	stop, ok2 := ParseInt(args[3])
	if !ok1 || !ok2 {
		return ErrNotInteger
	}
	k := req.key(args[1])
	a := req.read(k, &turn.List{Key: k, Start: start, Stop: stop}, func(r turn.Result) (Reply, error) {
		return func(w *resp.Writer) { writePayloads(w, r.Messages) }, nil
	})
	a.Bulky = true
	return a
}

// lset looks at the index only if there is a list, as Redis does.
func lset(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	i, ok := ParseInt(args[2])
	if !ok {
		return req.read(k, InfoOf(k), func(r turn.Result) (Reply, error) {
			switch {
			case !exists(r):
				return nil, errNoSuchKey
			case r.Session.Type != turn.TypeList:
				return nil, ErrWrongType
			}
			return nil, ErrNotInteger
		})
	}
	op := &turn.SetElement{Key: k, Index: i, Data: req.payload(args[3])}
	return write(k, op, func(w *resp.Writer, _ turn.Result) { w.Status("OK") })
}

func linsert(req *Request, args [][]byte) Action {
	after := Is(args[2], "AFTER")
	if !after && !Is(args[2], "BEFORE") {
		return ErrSyntax
	}
	k := req.key(args[1])
	op := &turn.InsertElement{Key: k, Pivot: bytes.Clone(args[3]), After: after, Data: req.payload(args[4])}
	return write(k, op, func(w *resp.Writer, r turn.Result) { w.Int(r.Number) })
}

func lrem(req *Request, args [][]byte) Action {
	n, ok := ParseInt(args[2])
	if !ok {
		return ErrNotInteger
	}
	k := req.key(args[1])
	op := &turn.RemoveElements{Key: k, Count: n, Data: bytes.Clone(args[3])}
	return write(k, op, func(w *resp.Writer, r turn.Result) { counted(w, r.Removed) })
}
