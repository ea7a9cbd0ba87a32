package command

import (
	"context"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/cursors"
	"github.com/turnlog/turnlog/internal/server/redis/glob"
	"github.com/turnlog/turnlog/turn"
)

// scan is SCAN cursor [MATCH pattern] [COUNT n] [TYPE type]. It goes through the
// keys in order, so one that stays during the whole iteration is returned once.
func scan(req *Request, args [][]byte) Action {
	cursor, err := strconv.ParseUint(string(args[1]), 10, 64)
	if err != nil {
		return errScanCursor
	}
	o, fail := parseScan(args[2:], true)
	if fail != "" {
		return fail
	}
	q := turn.Sessions{Namespace: req.Namespace, Prefix: glob.LiteralPrefix(o.pattern),
		Limit: int(min(o.count, keysPage)), List: true, Type: o.typ}
	user, pattern := req.User, glob.Compile(o.pattern)
	return AloneLinearizable(func(ctx context.Context) (Reply, error) {
		if o.none {
			return scanReply(0, nil), nil
		}
		var known bool
		var err error
		if q.Cursor, known, err = req.resume(ctx, q, cursor); err != nil {
			return nil, err
		} else if !known {
			return scanReply(cursor, nil), nil
		}
		r, err := user.List(q, func(q turn.Sessions) (turn.Result,
			error) {
			return req.Backend.engine.Query(ctx, &q, Linearizable)
		})
		if err != nil {
			return nil, err
		}
		var found []string
		for i := range r.Sessions {
			if req.Client.HasLeft() {
				return nil, ErrLeft
			}
			if name := r.Sessions[i].Key.Name; pattern.Match(name) {
				found = append(found, name)
			}
		}
		return scanReply(req.cursors().Give(q.Namespace, r.Cursor), found), nil
	})
}

// LongPattern is the error of a pattern, or of the name of a channel, that is too long; empty: it is not.
func LongPattern(pattern string) Error {
	if len(pattern) <= glob.MaxBytes {
		return ""
	}
	return TooLarge("a pattern, or a channel's name, can have %d bytes", glob.MaxBytes)
}

type scanOptions struct {
	pattern string
	count   int64
	typ     turn.Type // of the keys wanted; TypeNone: any
	none    bool      // no key can have the type wanted
}

func parseScan(args [][]byte, typed bool) (scanOptions, Error) {
	o := scanOptions{pattern: "*", count: 10}
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			return o, ErrSyntax
		}
		value := args[i+1]
		switch word := strings.ToUpper(string(args[i])); {
		case word == "MATCH":
			if o.pattern = string(value); LongPattern(o.pattern) != "" {
				return o, LongPattern(o.pattern)
			}
		case word == "COUNT":
			n, ok := ParseInt(value)
			if !ok {
				return o, ErrNotInteger
			}
			if n < 1 {
				return o, ErrSyntax
			}
			o.count = n
		case word == "TYPE" && typed:
			o.typ, o.none = turn.ParseType(strings.ToLower(string(value)))
			o.none = !o.none || o.typ == turn.TypeNone
		default:
			return o, ErrSyntax
		}
	}
	return o, ""
}

func scanReply(cursor uint64, names []string) Reply {
	return func(w *resp.Writer) {
		w.Array(2)
		w.BulkString(strconv.FormatUint(cursor, 10))
		WriteNames(w, names)
	}
}

// cursors returns what the node remembers of the user's iterations.
func (req *Request) cursors() *cursors.Table {
	if req.User == nil {
		return req.Backend.cursors.Of("")
	}
	return req.Backend.cursors.Of(req.User.Name)
}

// searchStep is how many keys or elements one call looks at in search of a cursor, or COUNT of them if that is more.
const searchStep = 1000

// resume returns the engine's cursor for a number, which the node may not remember. Then each call searches a little
// further, until one knows it; before that, a call is answered with the number itself. It does not tell a user which
// keys of others exist.
func (req *Request) resume(ctx context.Context, q turn.Sessions, n uint64) (cursor string, known bool, err error) {
	where, table := q.Namespace, req.cursors()
	if n == 0 {
		return "", true, nil
	}
	if key, ok := table.Find(where, n); ok && req.User.MayTouch([]byte(key)) {
		return key, true, nil
	}
	step := turn.Sessions{Namespace: q.Namespace, Limit: max(q.Limit, searchStep), List: true,
		Cursor: table.Searched(where, n)}
	r, err := req.User.List(step, func(q turn.Sessions) (turn.Result, error) {
		return req.Backend.engine.Query(ctx, &q, Linearizable)
	})
	if err != nil {
		return "", false, err
	}
	for i := range r.Sessions {
		if key := r.Sessions[i].Key.Name; cursors.Number(where, key) == n {
			return key, true, nil
		}
	}
	if table.NoteSearched(where, n, r.Cursor); r.Cursor == "" {
		return "", false, ErrLostCursor
	}
	return "", false, nil
}

// smallValue is up to how many elements HSCAN and its kin return in one step,
// whatever COUNT says, as Redis does with small values.
const smallValue = 128

// scanOf makes the handler of HSCAN, SSCAN and ZSCAN. They go through the elements
// in the order of names, so one that stays meanwhile is returned once.
func scanOf(typ turn.Type, width int, one func(*resp.Writer, *turn.Element)) Handler {
	return func(req *Request, args [][]byte) Action {
		number, err := strconv.ParseUint(string(args[2]), 10, 64)
		if err != nil {
			return errScanCursor
		}
		o, fail := parseScan(args[3:], false)
		k := req.key(args[1])
		q := turn.AllFields{Key: k, Type: typ, Limit: int(min(max(o.count, smallValue), keysPage))}
		place := k.Namespace + "\x00" + k.Name
		pattern := glob.Compile(o.pattern)
		answer := func(r turn.Result) (Reply, error) {
			switch {
			case r.Session == nil || !r.Session.Held():
				return scanReply(0, nil), nil
			case fail != "":
				return nil, fail
			}
			found := r.Elements[:0:0]
			for i := range r.Elements {
				if req.Client.HasLeft() {
					return nil, ErrLeft
				}
				if pattern.Match(r.Elements[i].Name) {
					found = append(found, r.Elements[i])
				}
			}
			next := req.cursors().Give(place, r.Cursor)
			return func(w *resp.Writer) { writeScanned(w, next, found, width, one) }, nil
		}
		if number == 0 {
			a := req.read(k, &q, answer)
			a.Bulky = true
			return a
		}
		return &Work{Keys: []turn.Key{k}, Linearizable: true, Bulky: true,
			Run: func(ctx context.Context) (Reply, error) {
				var known bool
				if q.Cursor, known, err = req.resumeFields(ctx, q, place, number); err != nil {
					return nil, err
				} else if !known {
					return scanReply(number, nil), nil
				}
				r, err := req.Backend.engine.Query(ctx, &q, Linearizable)
				if err != nil {
					return nil, err
				}
				return answer(r)
			}}
	}
}

func writeScanned(w *resp.Writer, cursor uint64, found []turn.Element, width int,
	one func(*resp.Writer, *turn.Element)) {
	w.Array(2)
	w.BulkString(strconv.FormatUint(cursor, 10))
	w.Array(width * len(found))
	for i := range found {
		one(w, &found[i])
	}
}

// resumeFields returns the engine's cursor for a number: see resume.
func (req *Request) resumeFields(ctx context.Context, q turn.AllFields, place string, n uint64) (cursor string,
	known bool, err error) {
	table := req.cursors()
	if cursor, ok := table.Find(place, n); ok {
		return cursor, true, nil
	}
	q.Limit, q.Cursor = max(q.Limit, searchStep), table.Searched(place, n)
	r, err := req.Backend.engine.Query(ctx, &q, Linearizable)
	if err != nil {
		return "", false, err
	}
	for i := range r.Elements {
		// The engine's cursors are the least names above the last one returned.
		if next := r.Elements[i].Name + "\x00"; cursors.Number(place, next) == n {
			return next, true, nil
		}
	}
	if table.NoteSearched(place, n, r.Cursor); r.Cursor == "" {
		return "", false, ErrLostCursor
	}
	return "", false, nil
}
