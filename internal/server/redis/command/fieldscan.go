package command

import (
	"context"
	"strconv"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

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
			next := req.Backend.cursors.give(place, r.Cursor)
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
		if Match(pattern, es[i].Name) {
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
	if cursor, ok := b.cursors.find(n); ok {
		return cursor, nil
	}
	for q.Limit = keysPage; ; {
		r, err := b.engine.Query(ctx, &q, Linearizable)
		if err != nil {
			return "", err
		}
		for i := range r.Elements {
			// The engine's cursors are the least names above the last one returned.
			if next := r.Elements[i].Name + "\x00"; CursorNumber(place, next) == n {
				return next, nil
			}
		}
		if q.Cursor = r.Cursor; q.Cursor == "" {
			return "", ErrLostCursor
		}
	}
}
