package command

import (
	"bytes"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// hset makes the handler of HSET and HMSET, which differ in the answer.
func hset(answer func(*resp.Writer, turn.Result)) Handler {
	return func(req *Request, args [][]byte) Action {
		if len(args)%2 == 1 {
			return ErrArity(string(lower(nil, args[0])))
		}
		k := req.key(args[1])
		return write(k, &turn.SetFields{Key: k, Type: turn.TypeHash, Fields: req.fields(args[2:])}, answer)
	}
}

// fields makes fields of names and values that alternate.
func (req *Request) fields(args [][]byte) []turn.Field {
	fs := make([]turn.Field, 0, len(args)/2)
	for i := 0; i+1 < len(args); i += 2 {
		fs = append(fs, turn.Field{Name: string(args[i]), Value: bytes.Clone(args[i+1])})
	}
	return fs
}

func hsetnx(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	return write(k, &turn.SetFields{Key: k, Type: turn.TypeHash, Fields: req.fields(args[2:]),
		OnlyNew: true}, sayNumber)
}

func hincrby(req *Request, args [][]byte) Action {
	n, ok := ParseInt(args[3])
	if !ok {
		return ErrNotInteger
	}
	k := req.key(args[1])
	return write(k, &turn.AddToField{Key: k, Name: string(args[2]), Delta: n}, sayNumber)
}

func sadd(req *Request, args [][]byte) Action {
	fs := make([]turn.Field, 0, len(args)-2)
	for _, a := range args[2:] {
		fs = append(fs, turn.Field{Name: string(a)})
	}
	k := req.key(args[1])
	return write(k, &turn.SetFields{Key: k, Type: turn.TypeSet, Fields: fs}, sayNumber)
}

// removeNamed makes the handler of HDEL, SREM and ZREM.
func removeNamed(typ turn.Type) Handler {
	return func(req *Request, args [][]byte) Action {
		k := req.key(args[1])
		return write(k, &turn.RemoveFields{Key: k, Type: typ, Names: Names(args[2:])}, sayRemoved)
	}
}

// lookUp makes the handler of a command that asks for named elements and answers
// each of them with one value; many: in an array.
func lookUp(typ turn.Type, many bool, one func(*resp.Writer, *turn.Element)) Handler {
	return func(req *Request, args [][]byte) Action {
		k := req.key(args[1])
		a := req.read(k, &turn.Fields{Key: k, Type: typ, Names: Names(args[2:])}, func(r turn.Result) (Reply, error) {
			return func(w *resp.Writer) {
				if many {
					w.Array(len(r.Elements))
				}
				for i := range r.Elements {
					one(w, &r.Elements[i])
				}
			}, nil
		})
		a.Bulky = typ == turn.TypeHash
		return a
	}
}

func oneValue(w *resp.Writer, e *turn.Element) {
	if e.Missing {
		w.Null()
		return
	}
	w.Bulk(e.Value)
}

func oneLength(w *resp.Writer, e *turn.Element) { w.Int(int64(len(e.Value))) }

func onePresence(w *resp.Writer, e *turn.Element) {
	if e.Missing {
		w.Int(0)
		return
	}
	w.Int(1)
}

func oneScore(w *resp.Writer, e *turn.Element) {
	if e.Missing {
		w.Null()
		return
	}
	w.Double(e.Score)
}

// allOf makes the handler of HGETALL, HKEYS, HVALS and SMEMBERS. Like LRANGE, the
// answer is never cut.
func allOf(typ turn.Type, head func(*resp.Writer, int), one func(*resp.Writer, *turn.Element)) Handler {
	return func(req *Request, args [][]byte) Action {
		k := req.key(args[1])
		a := req.read(k, &turn.AllFields{Key: k, Type: typ}, func(r turn.Result) (Reply, error) {
			if r.Cursor != "" {
				return nil, turn.Errorf(turn.TooLarge,
					"the answer would have more bytes than one may have; go through the %s with %s", typ,
					map[turn.Type]string{turn.TypeHash: "HSCAN", turn.TypeSet: "SSCAN"}[typ])
			}
			return func(w *resp.Writer) {
				head(w, len(r.Elements))
				for i := range r.Elements {
					one(w, &r.Elements[i])
				}
			}, nil
		})
		a.Bulky = true
		return a
	}
}

func oneName(w *resp.Writer, e *turn.Element) { w.BulkString(e.Name) }

func oneBoth(w *resp.Writer, e *turn.Element) {
	w.BulkString(e.Name)
	w.Bulk(e.Value)
}

func oneRanked(w *resp.Writer, e *turn.Element) {
	w.BulkString(e.Name)
	w.BulkString(resp.FormatDouble(e.Score))
}
