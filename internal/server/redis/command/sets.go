package command

import (
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// combineSets makes the handler of SINTER, SUNION and SDIFF.
func combineSets(by turn.SetsBy) Handler {
	return func(req *Request, args [][]byte) Action {
		a := req.combination(turn.CombineSets{Keys: req.keysOf(args[1:]), By: by}, func(r turn.Result) Reply {
			return func(w *resp.Writer) {
				w.Set(len(r.Elements))
				for i := range r.Elements {
					w.BulkString(r.Elements[i].Name)
				}
			}
		})
		return a
	}
}

// sintercard is SINTERCARD numkeys key [key …] [LIMIT limit].
func sintercard(req *Request, args [][]byte) Action {
	n, ok := ParseInt(args[1])
	if !ok || n < 1 {
		return Error("ERR numkeys should be greater than 0")
	}
	rest := args[2:]
	if n > int64(len(rest)) {
		return Error("ERR Number of keys can't be greater than number of args")
	}
	q := turn.CombineSets{Keys: req.keysOf(rest[:n]), OnlyCount: true}
	for rest = rest[n:]; len(rest) > 0; rest = rest[2:] {
		if !Is(rest[0], "LIMIT") || len(rest) == 1 {
			return ErrSyntax
		}
		limit, ok := ParseInt(rest[1])
		if !ok || limit < 0 {
			return Error("ERR LIMIT can't be negative")
		}
		q.Limit = uint64(limit)
	}
	return req.combination(q, func(r turn.Result) Reply { return Count(r.Count) })
}

// combination asks for a combination of sets.
func (req *Request) combination(q turn.CombineSets, answer func(turn.Result) Reply) Action {
	if err := req.needsLevel3(); err != "" {
		return err
	}
	return &Read{Keys: q.Keys, Queries: []turn.Query{&q}, Bulky: !q.OnlyCount,
		Answer: func(os []Outcome) (Reply, error) {
			if os[0].Err != nil {
				return nil, os[0].Err
			}
			return answer(os[0].Result), nil
		}}
}

// storeSets makes the handler of SINTERSTORE, SUNIONSTORE and SDIFFSTORE.
func storeSets(by turn.SetsBy) Handler {
	return func(req *Request, args [][]byte) Action {
		if err := req.needsLevel3(); err != "" {
			return err
		}
		keys := req.keysOf(args[1:])
		return &Write{Op: &turn.StoreSets{To: keys[0], Of: turn.CombineSets{Keys: keys[1:], By: by}}, Keys: keys,
			Done: func(w *resp.Writer, r turn.Result) { counted(w, r.Count) }}
	}
}

// needsLevel3 refuses a command below that level.
func (req *Request) needsLevel3() Error {
	if level := req.Backend.engine.Level(); level < turn.Level3 {
		return Error(ErrorText(turn.Errorf(turn.Invalid,
			"%s needs cluster level %d, and this node is at level %d: the level "+
				"rises when every member runs a version that supports it; see turnlog cluster status",
			strings.ToUpper(req.Command.Name), turn.Level3, level), false))
	}
	return ""
}
