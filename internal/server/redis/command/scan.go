package command

import (
	"context"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/auth"
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
	user := req.User
	return AloneLinearizable(func(ctx context.Context) (Reply, error) {
		if o.none {
			return scanReply(0, nil), nil
		}
		var err error
		if q.Cursor, err = req.Backend.resume(ctx, user, q.Namespace, cursor); err != nil {
			return nil, err
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
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if name := r.Sessions[i].Key.Name; glob.Match(o.pattern, name) {
				found = append(found, name)
			}
		}
		return scanReply(req.Backend.cursors.Give(q.Namespace, r.Cursor), found), nil
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

// resume returns the engine's cursor for a number. It does not tell a user which
// keys of others exist.
func (b *Backend) resume(ctx context.Context, user *auth.User, namespace string, n uint64) (string, error) {
	if n == 0 {
		return "", nil
	}
	if key, ok := b.cursors.Find(n); ok && user.MayTouch([]byte(key)) {
		return key, nil
	}
	q := turn.Sessions{Namespace: namespace, Limit: keysPage, List: true}
	for {
		r, err := user.List(q, func(q turn.Sessions) (turn.Result,
			error) {
			return b.engine.Query(ctx, &q, Linearizable)
		})
		if err != nil {
			return "", err
		}
		for i := range r.Sessions {
			if key := r.Sessions[i].Key.Name; cursors.Number(namespace, key) == n {
				return key, nil
			}
		}
		if q.Cursor = r.Cursor; q.Cursor == "" {
			return "", ErrLostCursor
		}
	}
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
		answer := func(r turn.Result) (Reply, error) {
			switch {
			case r.Session == nil || !r.Session.Held():
				return scanReply(0, nil), nil
			case fail != "":
				return nil, fail
			}
			next := req.Backend.cursors.Give(place, r.Cursor)
			return func(w *resp.Writer) { writeScanned(w, next, r.Elements, o.pattern, width, one) }, nil
		}
		if number == 0 {
			return req.read(k, &q, answer)
		}
		return &Work{Keys: []turn.Key{k}, Linearizable: true, Run: func(ctx context.Context) (Reply, error) {
			if q.Cursor, err = req.Backend.resumeFields(ctx, q, place, number); err != nil {
				return nil, err
			}
			r, err := req.Backend.engine.Query(ctx, &q, Linearizable)
			if err != nil {
				return nil, err
			}
			return answer(r)
		}}
	}
}

func writeScanned(w *resp.Writer, cursor uint64, es []turn.Element, pattern string, width int,
	one func(*resp.Writer, *turn.Element)) {
	found := make([]*turn.Element, 0, len(es))
	for i := range es {
		if glob.Match(pattern, es[i].Name) {
			found = append(found, &es[i])
		}
	}
	w.Array(2)
	w.BulkString(strconv.FormatUint(cursor, 10))
	w.Array(width * len(found))
	for _, e := range found {
		one(w, e)
	}
}

// resumeFields returns the engine's cursor for a number: see resume.
func (b *Backend) resumeFields(ctx context.Context, q turn.AllFields, place string, n uint64) (string, error) {
	if cursor, ok := b.cursors.Find(n); ok {
		return cursor, nil
	}
	for q.Limit = keysPage; ; {
		r, err := b.engine.Query(ctx, &q, Linearizable)
		if err != nil {
			return "", err
		}
		for i := range r.Elements {
			// The engine's cursors are the least names above the last one returned.
			if next := r.Elements[i].Name + "\x00"; cursors.Number(place, next) == n {
				return next, nil
			}
		}
		if q.Cursor = r.Cursor; q.Cursor == "" {
			return "", ErrLostCursor
		}
	}
}
