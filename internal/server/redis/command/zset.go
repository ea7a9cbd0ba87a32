package command

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// parseFloat reads a number as Redis does, with strtod: hexadecimal and infinite
// ones too, no spaces around it.
func parseFloat(b []byte) (float64, bool) {
	s := string(b)
	if strings.ContainsAny(s, "xX") && !strings.ContainsAny(s, "pP") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f) && !strings.Contains(s, "_")
}

// zadd is ZADD key [NX|XX] [GT|LT] [CH] [INCR] score member [score member …].
func zadd(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	op := &turn.SetScores{Key: k}
	rest := args[2:]
	for ; len(rest) > 0; rest = rest[1:] {
		if !zaddOption(op, strings.ToUpper(string(rest[0]))) {
			break
		}
	}
	switch {
	case len(rest) == 0 || len(rest)%2 != 0:
		return ErrSyntax
	case op.OnlyNew && op.OnlyExisting:
		return Error("ERR XX and NX options at the same time are not compatible")
	case op.OnlyGreater && op.OnlyLess || op.OnlyNew && (op.OnlyGreater || op.OnlyLess):
		return Error("ERR GT, LT, and/or NX options at the same time are not compatible")
	case op.Increment && len(rest) > 2:
		return Error("ERR INCR option supports a single increment-element pair")
	}
	for i := 0; i < len(rest); i += 2 {
		f, ok := parseFloat(rest[i])
		if !ok {
			return errNotFloat
		}
		op.Members = append(op.Members, turn.Score{Member: string(rest[i+1]), Score: f})
	}
	if op.Increment {
		return write(k, op, sayScore)
	}
	return write(k, op, sayNumber)
}

func zaddOption(op *turn.SetScores, word string) bool {
	switch word {
	case "NX":
		op.OnlyNew = true
	case "XX":
		op.OnlyExisting = true
	case "GT":
		op.OnlyGreater = true
	case "LT":
		op.OnlyLess = true
	case "CH":
		op.Changed = true
	case "INCR":
		op.Increment = true
	default:
		return false
	}
	return true
}

func sayScore(w *resp.Writer, r turn.Result) {
	if r.Found {
		w.Double(r.Score)
	} else {
		w.Null()
	}
}

func zincrby(req *Request, args [][]byte) Action {
	f, ok := parseFloat(args[2])
	if !ok {
		return errNotFloat
	}
	k := req.key(args[1])
	return write(k, &turn.SetScores{Key: k, Increment: true,
		Members: []turn.Score{{Member: string(args[3]), Score: f}}}, sayScore)
}

// zrank makes the handlers of ZRANK and ZREVRANK.
func zrank(name string, reverse bool) Handler {
	return func(req *Request, args [][]byte) Action {
		withScore := len(args) == 4
		switch {
		case len(args) > 4:
			return ErrArity(name)
		case withScore && !Is(args[3], "WITHSCORE"):
			return ErrSyntax
		}
		k := req.key(args[1])
		return req.read(k, &turn.Rank{Key: k, Member: string(args[2]), Reverse: reverse},
			func(r turn.Result) (Reply, error) {
				switch {
				case !r.Found && withScore:
					return (*resp.Writer).NullArray, nil
				case !r.Found:
					return (*resp.Writer).Null, nil
				case !withScore:
					return Count(uint64(r.Number)), nil
				}
				return func(w *resp.Writer) {
					w.Array(2)
					w.Int(r.Number)
					w.Double(r.Score)
				}, nil
			})
	}
}

func zcount(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	q := &turn.Scores{Key: k, By: turn.ByScore}
	var ok1, ok2 bool
	q.Min, ok1 = scoreBound(args[2])
	q.Max, ok2 = scoreBound(args[3])
	if !ok1 || !ok2 {
		return errMinMaxFloat
	}
	a := req.read(k, q, func(r turn.Result) (Reply, error) { return Count(uint64(len(r.Elements))), nil })
	a.Bulky = true
	return a
}

// scoreBound reads an end of a range of scores. Like Redis it takes nothing for 0
// and passes over spaces before the number.
func scoreBound(arg []byte) (b turn.Bound, ok bool) {
	if len(arg) > 0 && arg[0] == '(' {
		b.Exclusive, arg = true, arg[1:]
	}
	if len(arg) == 0 {
		return b, true
	}
	b.Score, ok = parseFloat(bytes.TrimLeft(arg, " \t\n\v\f\r"))
	return b, ok
}

// nameBound reads an end of a range of names. beyond is -1 for what is below all
// names, 1 for what is above.
func nameBound(arg []byte) (b turn.Bound, beyond int, ok bool) {
	switch {
	case string(arg) == "-":
		return b, -1, true
	case string(arg) == "+":
		return b, 1, true
	case len(arg) > 0 && (arg[0] == '(' || arg[0] == '['):
		return turn.Bound{Name: string(arg[1:]), Exclusive: arg[0] == '('}, 0, true
	}
	return b, 0, false
}
