package command

import (
	"math"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// zremrange makes the handlers of ZREMRANGEBYRANK, ZREMRANGEBYSCORE and ZREMRANGEBYLEX.
func zremrange(by turn.ScoresBy) Handler {
	return func(req *Request, args [][]byte) Action {
		k := req.key(args[1])
		r := ranging{q: turn.Scores{Key: k, By: by}}
		if err := r.ends(args[2], args[3]); err != "" {
			return err
		}
		if r.empty {
			r.q = turn.Scores{Key: k, By: turn.ByRank, Start: 1, Stop: 0}
		}
		return write(k, &turn.RemoveScores{Of: r.q}, sayRemoved)
	}
}

// zpop makes the handlers of ZPOPMIN and ZPOPMAX. With a count, RESP3 has the members in pairs.
func zpop(highest bool) Handler {
	return func(req *Request, args [][]byte) Action {
		if len(args) > 3 {
			return ErrSyntax
		}
		k := req.key(args[1])
		n, counts := uint64(1), len(args) == 3
		if counts {
			var ok bool
			if n, ok = parseCount(args[2]); !ok {
				return errNotPositive
			}
		}
		if n == 0 {
			return req.ofNone(k)
		}
		of := turn.Scores{Key: k, By: turn.ByRank, Stop: int64(min(n, math.MaxInt64) - 1), Reverse: highest}
		return write(k, &turn.RemoveScores{Of: of, Answer: true}, func(w *resp.Writer, r turn.Result) {
			if counts {
				writeRange(w, r.Elements, true)
				return
			}
			w.Array(2 * len(r.Elements))
			for i := range r.Elements {
				w.BulkString(r.Elements[i].Name)
				w.Double(r.Elements[i].Score)
			}
		})
	}
}
