package command

import (
	"math"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// ranging is a request for a range of a sorted set. Of the older commands, the
// name says what ZRANGE takes as options.
type ranging struct {
	q             turn.Scores
	auto          bool // BYSCORE, BYLEX and REV are options
	withScores    bool
	limited       bool
	offset, count int64
	empty         bool // no member can be in the range
}

// zrange makes the handler of ZRANGE (auto) and of the older commands.
func zrange(by turn.ScoresBy, reverse, auto bool) Handler {
	return func(req *Request, args [][]byte) Action {
		k := req.key(args[1])
		r := ranging{q: turn.Scores{Key: k, By: by, Reverse: reverse}, auto: auto, count: -1}
		if err := r.options(args[4:]); err != "" {
			return err
		}
		if err := r.ends(args[2], args[3]); err != "" {
			return err
		}
		r.page()
		if r.empty {
			return req.ofNone(k)
		}
		a := req.read(k, &r.q, func(res turn.Result) (Reply, error) {
			return func(w *resp.Writer) { writeRange(w, res.Elements, r.withScores) }, nil
		})
		a.Bulky = true
		return a
	}
}

// ofNone answers with no members, if the key holds a sorted set or nothing.
func (req *Request) ofNone(k turn.Key) Action {
	return req.read(k, InfoOf(k), func(res turn.Result) (Reply, error) {
		if exists(res) && res.Session.Type != turn.TypeZSet {
			return nil, ErrWrongType
		}
		return func(w *resp.Writer) { w.Array(0) }, nil
	})
}

func (r *ranging) options(args [][]byte) Error {
	for i := 0; i < len(args); i++ {
		switch word := strings.ToUpper(string(args[i])); {
		case word == "WITHSCORES":
			r.withScores = true
		case word == "LIMIT" && i+2 < len(args):
			var ok1, ok2 bool
			r.offset, ok1 = ParseInt(args[i+1])
			r.count, ok2 = ParseInt(args[i+2])
			if !ok1 || !ok2 {
				return ErrNotInteger
			}
			r.limited = true
			i += 2
		case word == "REV" && r.auto && !r.q.Reverse:
			r.q.Reverse = true
		case word == "BYSCORE" && r.auto && r.q.By == turn.ByRank:
			r.q.By = turn.ByScore
		case word == "BYLEX" && r.auto && r.q.By == turn.ByRank:
			r.q.By = turn.ByName
		default:
			return ErrSyntax
		}
	}
	switch {
	case r.limited && r.count != -1 && r.q.By == turn.ByRank:
		return "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
	case r.withScores && r.q.By == turn.ByName:
		return "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
	}
	return ""
}

// ends reads the ends of the range. Reversed, that of scores or names begins with
// the higher one.
func (r *ranging) ends(low, high []byte) Error {
	if r.q.Reverse && r.q.By != turn.ByRank {
		low, high = high, low
	}
	ok1, ok2 := false, false
	switch r.q.By {
	case turn.ByRank:
		r.q.Start, ok1 = ParseInt(low)
		r.q.Stop, ok2 = ParseInt(high)
		if !ok1 || !ok2 {
			return ErrNotInteger
		}
	case turn.ByScore:
		r.q.Min, ok1 = scoreBound(low)
		r.q.Max, ok2 = scoreBound(high)
		if !ok1 || !ok2 {
			return errMinMaxFloat
		}
	case turn.ByName:
		var below, above int
		r.q.Min, below, ok1 = nameBound(low)
		r.q.Max, above, ok2 = nameBound(high)
		if !ok1 || !ok2 {
			return errMinMaxName
		}
		r.q.Min.Open, r.q.Max.Open = below < 0, above > 0
		r.empty = below > 0 || above < 0
	}
	return ""
}

// page translates LIMIT: a negative count means all.
func (r *ranging) page() {
	if r.q.By == turn.ByRank {
		return
	}
	r.empty = r.empty || r.offset < 0 || r.count == 0
	if r.empty {
		return
	}
	r.q.Offset = int(min(r.offset, math.MaxInt32))
	r.q.Limit = int(min(max(r.count, 0), math.MaxInt32))
}

// writeRange writes members; with scores in pairs, of which RESP2 knows nothing.
func writeRange(w *resp.Writer, es []turn.Element, withScores bool) {
	pairs := withScores && w.Protocol() >= 3
	if withScores && !pairs {
		w.Array(2 * len(es))
	} else {
		w.Array(len(es))
	}
	for i := range es {
		if pairs {
			w.Array(2)
		}
		w.BulkString(es[i].Name)
		if withScores {
			w.Double(es[i].Score)
		}
	}
}

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
