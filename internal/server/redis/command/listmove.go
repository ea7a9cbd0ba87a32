package command

import (
	"math"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// blockingPop makes the handler of BLPOP and BRPOP.
func blockingPop(side turn.Side) Handler {
	return func(req *Request, args [][]byte) Action {
		block, err := parseTimeout(args[len(args)-1])
		if err != "" {
			return err
		}
		return req.take(taking{
			keys: req.keysOf(args[1 : len(args)-1]), op: popFirst(side, 1), none: (*resp.Writer).NullArray, wait: true,
			block: block,
			done: func(w *resp.Writer, k turn.Key, r turn.Result) {
				w.Array(2)
				w.BulkString(k.Name)
				w.Bulk(r.Messages[0].Data)
			},
		}, args)
	}
}

func popFirst(side turn.Side, count uint64) func([]turn.Key) turn.Op {
	return func(keys []turn.Key) turn.Op { return &turn.PopFirst{Keys: keys, From: side, Count: count} }
}

// popMany makes the handler of LMPOP and BLMPOP; at is where the number of keys
// stands.
func popMany(at int) Handler {
	return func(req *Request, args [][]byte) Action {
		t := taking{none: (*resp.Writer).NullArray, wait: at == 2}
		n, ok := ParseInt(args[at])
		if !ok || n <= 0 {
			return Error("ERR numkeys should be greater than 0")
		}
		rest := args[at+1:]
		if n >= int64(len(rest)) {
			return ErrSyntax
		}
		names, rest := rest[:n], rest[n:]
		side, ok := parseListEnd(rest[0])
		if !ok {
			return ErrSyntax
		}
		count, rest := uint64(1), rest[1:]
		if len(rest) >= 2 && Is(rest[0], "COUNT") {
			if count, ok = parseCount(rest[1]); !ok || count == 0 {
				return Error("ERR count should be greater than 0")
			}
			rest = rest[2:]
		}
		if len(rest) > 0 {
			return ErrSyntax
		}
		if t.wait {
			block, err := parseTimeout(args[1])
			if err != "" {
				return err
			}
			t.block = block
		}
		t.keys, t.op = req.keysOf(names), popFirst(side, count)
		t.done = func(w *resp.Writer, k turn.Key, r turn.Result) {
			w.Array(2)
			w.BulkString(k.Name)
			writePayloads(w, r.Messages)
		}
		return req.take(t, args)
	}
}

// countedKeys finds the keys of a request in which their number is at a place.
func countedKeys(at int) func(args [][]byte) [][]byte {
	return func(args [][]byte) [][]byte {
		if at >= len(args) {
			return nil
		}
		n, ok := ParseInt(args[at])
		if !ok || n < 0 || n > int64(len(args)-at-1) {
			return nil
		}
		return args[at+1 : at+1+int(n)]
	}
}

// move makes the handlers of LMOVE and BLMOVE, RPOPLPUSH and BRPOPLPUSH.
func move(sided, blocking bool) Handler {
	return func(req *Request, args [][]byte) Action {
		from, on, ok := turn.Tail, turn.Head, true
		if sided {
			var ok1, ok2 bool
			from, ok1 = parseListEnd(args[3])
			on, ok2 = parseListEnd(args[4])
			ok = ok1 && ok2
		}
		if !ok {
			return ErrSyntax
		}
		t := taking{none: (*resp.Writer).Null, wait: blocking}
		if blocking {
			block, err := parseTimeout(args[len(args)-1])
			if err != "" {
				return err
			}
			t.block = block
		}
		k, to := req.key(args[1]), req.key(args[2])
		t.keys = []turn.Key{k}
		t.op = func([]turn.Key) turn.Op { return &turn.MoveElement{Key: k, To: to, From: from, On: on} }
		t.done = func(w *resp.Writer, _ turn.Key, r turn.Result) { w.Bulk(r.Messages[0].Data) }
		a := req.take(t, args)
		if w, ok := a.(*Write); ok {
			w.Keys = append(w.Keys, to)
		}
		return a
	}
}

// parseListEnd reads the end of a list.
func parseListEnd(arg []byte) (side turn.Side, ok bool) {
	switch {
	case Is(arg, "LEFT"):
		return turn.Head, true
	case Is(arg, "RIGHT"):
		return turn.Tail, true
	}
	return 0, false
}

// parseTimeout reads a time in seconds, 0 for ever.
func parseTimeout(arg []byte) (time.Duration, Error) {
	seconds, ok := parseFloat(arg)
	switch {
	case !ok:
		return 0, "ERR timeout is not a float or out of range"
	case seconds < 0:
		return 0, "ERR timeout is negative"
	case seconds*1000 > math.MaxInt64:
		return 0, "ERR timeout is out of range"
	case seconds == 0:
		return 0, ""
	}
	const longest = 100 * 365 * 24 * time.Hour
	return max(time.Millisecond, time.Duration(min(seconds, longest.Seconds())*float64(time.Second))), ""
}
