package command

import (
	"math"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

const errStreamID Error = "ERR Invalid stream ID specified as stream command argument"

func formatID(id turn.EntryID) string {
	return strconv.FormatUint(id.Time, 10) + "-" + strconv.FormatUint(id.Seq, 10)
}

// parseID reads time-seq or time, to which seq is added. Like Redis it takes
// spaces and a plus sign before a number.
func parseID(arg []byte, seq uint64) (id turn.EntryID, ok bool) {
	time, rest, whole := strings.Cut(string(arg), "-")
	id.Seq = seq
	var err1, err2 error
	id.Time, err1 = parseUint(time)
	if whole {
		id.Seq, err2 = parseUint(rest)
	}
	return id, len(arg) < 128 && err1 == nil && err2 == nil
}

func parseUint(s string) (uint64, error) {
	return strconv.ParseUint(strings.TrimPrefix(strings.TrimLeft(s, " \t\n\v\f\r"), "+"), 10, 64)
}

// parseEnd reads an end of an interval of ids.
func parseEnd(arg []byte, high bool) (id turn.EntryID, fail Error) {
	seq, which := uint64(0), "start"
	if high {
		seq, which = math.MaxUint64, "end"
	}
	switch {
	case string(arg) == "-":
		return turn.EntryID{}, ""
	case string(arg) == "+":
		return turn.MaxEntryID(), ""
	case len(arg) < 2 || arg[0] != '(':
		id, ok := parseID(arg, seq)
		if !ok {
			return id, errStreamID
		}
		return id, ""
	}
	id, ok := parseID(arg[1:], seq)
	if !ok {
		return id, errStreamID
	}
	if high {
		id, ok = id.Prev()
	} else {
		id, ok = id.Next()
	}
	if !ok {
		return id, Error("ERR invalid " + which + " ID for the interval")
	}
	return id, ""
}

// xadd is XADD key [NOMKSTREAM] [MAXLEN|MINID [=|~] n [LIMIT n]] *|id field value ….
func xadd(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	op := &turn.AddEntry{Key: k}
	t := trimming{trim: &op.Trim, add: op}
	rest, err := t.parse(args[2:])
	if err != "" {
		return err
	}
	if len(rest) < 2 || len(rest)%2 == 1 {
		return ErrArity("xadd")
	}
	if op.Make == turn.IDGiven && op.ID == (turn.EntryID{}) {
		return Error("ERR The ID specified in XADD must be greater than 0-0")
	}
	op.Fields = req.fields(rest)
	return write(k, op, func(w *resp.Writer, r turn.Result) {
		if r.Found {
			w.BulkString(formatID(r.ID))
		} else {
			w.Null()
		}
	})
}

func xtrim(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	op := &turn.TrimEntries{Key: k}
	t := trimming{trim: &op.Trim}
	if _, err := t.parse(args[2:]); err != "" {
		return err
	}
	return write(k, op, sayRemoved)
}

// trimming reads the options of XTRIM and, with add, of XADD.
type trimming struct {
	trim       *turn.StreamTrim
	add        *turn.AddEntry
	approx     bool
	limit      int64
	limitGiven bool
	args       [][]byte
	idSeen     bool
}

// parse returns what follows the options and, of XADD, the id.
func (t *trimming) parse(args [][]byte) (rest [][]byte, err Error) {
	t.args = args
	for len(t.args) > 0 && !t.idSeen && err == "" {
		err = t.option()
	}
	switch {
	case err != "":
		return nil, err
	case t.limit > 0 && t.trim.By == turn.TrimNothing:
		return nil, "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
	case t.add == nil && t.trim.By == turn.TrimNothing:
		return nil, "ERR syntax error, XTRIM must be called with MAXLEN or MINID"
	case t.limitGiven && !t.approx:
		return nil, "ERR syntax error, LIMIT cannot be used without the special ~ option"
	}
	t.trim.Limit = uint64(t.limit)
	return t.args, ""
}

func (t *trimming) option() Error {
	word := strings.ToUpper(string(t.args[0]))
	more := len(t.args) > 1
	switch {
	case (word == "MAXLEN" || word == "MINID") && more:
		return t.strategy(word)
	case word == "LIMIT" && more:
		n, ok := ParseInt(t.args[1])
		if !ok {
			return ErrNotInteger
		}
		if n < 0 {
			return "ERR The LIMIT argument must be >= 0."
		}
		t.limit, t.limitGiven = n, true
		t.args = t.args[2:]
	case t.add != nil && word == "NOMKSTREAM":
		t.add.OnlyExisting = true
		t.args = t.args[1:]
	case t.add != nil:
		return t.id()
	default:
		return ErrSyntax
	}
	return ""
}

func (t *trimming) strategy(word string) Error {
	if t.trim.By != turn.TrimNothing {
		return "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
	}
	t.args = t.args[1:]
	t.approx = false
	if len(t.args) > 1 && (string(t.args[0]) == "~" || string(t.args[0]) == "=") {
		t.approx = t.args[0][0] == '~'
		t.args = t.args[1:]
	}
	arg := t.args[0]
	t.args = t.args[1:]
	if word == "MINID" {
		t.trim.By = turn.BeforeID
		var ok bool
		if t.trim.ID, ok = parseID(arg, 0); !ok {
			return errStreamID
		}
		return ""
	}
	t.trim.By = turn.ToLength
	n, ok := ParseInt(arg)
	switch {
	case !ok:
		return ErrNotInteger
	case n < 0:
		return "ERR The MAXLEN argument must be >= 0."
	}
	t.trim.Length = uint64(n)
	return ""
}

// id reads XADD's id.
func (t *trimming) id() Error {
	arg := t.args[0]
	t.args, t.idSeen = t.args[1:], true
	if string(arg) == "*" {
		t.add.Make = turn.IDMade
		return ""
	}
	if n := len(arg) - 2; n > 0 && string(arg[n:]) == "-*" {
		t.add.Make, arg = turn.IDSeqMade, arg[:n]
	}
	var ok bool
	if t.add.ID, ok = parseID(arg, 0); !ok {
		return errStreamID
	}
	return ""
}

// xdel looks at the ids only if there is a stream, as Redis does.
func xdel(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	op := &turn.RemoveEntries{Key: k}
	for _, a := range args[2:] {
		id, ok := parseID(a, 0)
		if !ok {
			return req.read(k, InfoOf(k), func(r turn.Result) (Reply, error) {
				switch {
				case !exists(r):
					return Count(0), nil
				case r.Session.Type != turn.TypeStream:
					return nil, ErrWrongType
				}
				return nil, errStreamID
			})
		}
		op.IDs = append(op.IDs, id)
	}
	return write(k, op, sayRemoved)
}

// xrange makes the handler of XRANGE and XREVRANGE.
func xrange(reverse bool) Handler {
	return func(req *Request, args [][]byte) Action {
		low, high := args[2], args[3]
		if reverse {
			low, high = high, low
		}
		k := req.key(args[1])
		q := &turn.Entries{Key: k, Reverse: reverse}
		var err Error
		if q.Min, err = parseEnd(low, false); err != "" {
			return err
		}
		if q.Max, err = parseEnd(high, true); err != "" {
			return err
		}
		count := int64(-1)
		for rest := args[4:]; len(rest) > 0; rest = rest[2:] {
			if !Is(rest[0], "COUNT") || len(rest) < 2 {
				return ErrSyntax
			}
			n, ok := ParseInt(rest[1])
			if !ok {
				return ErrNotInteger
			}
			count = max(0, n)
		}
		q.Limit = int(min(max(count, 0), math.MaxInt32))
		a := req.read(k, q, func(r turn.Result) (Reply, error) {
			switch {
			case count == 0 && r.Session != nil && r.Session.Held():
				return (*resp.Writer).NullArray, nil
			case r.More && (q.Limit == 0 || len(r.Entries) < q.Limit):
				return nil, turn.Errorf(turn.TooLarge,
					"the answer would have more bytes than one may have; read it in parts, with COUNT")
			}
			return func(w *resp.Writer) { writeEntries(w, r.Entries) }, nil
		})
		a.Bulky = true
		return a
	}
}

func writeEntries(w *resp.Writer, es []turn.Entry) {
	w.Array(len(es))
	for i := range es {
		w.Array(2)
		w.BulkString(formatID(es[i].ID))
		w.Array(2 * len(es[i].Fields))
		for _, f := range es[i].Fields {
			w.BulkString(f.Name)
			w.Bulk(f.Value)
		}
	}
}
