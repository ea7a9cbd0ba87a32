package command

import (
	"context"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/resp"
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
	q := turn.Sessions{Namespace: req.Namespace, Prefix: literalPrefix(o.pattern), Limit: int(min(o.count, keysPage)),
		List: true, Type: o.typ}
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
			if name := r.Sessions[i].Key.Name; Match(o.pattern, name) {
				found = append(found, name)
			}
		}
		return scanReply(req.Backend.cursors.give(q.Namespace, r.Cursor), found), nil
	})
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
			o.pattern = string(value)
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

// keptCursors is how many iterations in progress a node remembers.
const keptCursors = 4096

// cursors turns the engine's cursors, which are keys, into numbers, which is what
// Redis clients take: a hash of the key, of 53 bits, since JavaScript clients
// take it for a floating-point number. A node remembers which key it stands for;
// another node, or this one after a restart, finds it by hashing all keys.
type cursors struct {
	mu    sync.Mutex
	place map[uint64]string // number → key, of the newest keptCursors
	given []uint64          // the same numbers, as a ring
	next  int               // in given
}

// CursorNumber is the number that stands for a cursor of the engine: a hash of the key.
func CursorNumber(namespace, key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(namespace))
	h.Write([]byte{0})
	h.Write([]byte(key))
	return max(1, h.Sum64()>>11)
}

// give returns the number for a cursor; 0 for none, at the end of an iteration.
func (cs *cursors) give(namespace, key string) uint64 {
	if key == "" {
		return 0
	}
	n := CursorNumber(namespace, key)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.place == nil {
		cs.place, cs.given = make(map[uint64]string), make([]uint64, keptCursors)
	}
	if _, ok := cs.place[n]; ok {
		return n
	}
	delete(cs.place, cs.given[cs.next])
	cs.place[n] = key
	cs.given[cs.next] = n
	cs.next = (cs.next + 1) % keptCursors
	return n
}

func (cs *cursors) find(n uint64) (key string, ok bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	key, ok = cs.place[n]
	return key, ok
}

// resume returns the engine's cursor for a number. It does not tell a user which
// keys of others exist.
func (b *Backend) resume(ctx context.Context, user *auth.User, namespace string, n uint64) (string, error) {
	if n == 0 {
		return "", nil
	}
	if key, ok := b.cursors.find(n); ok && user.MayTouch([]byte(key)) {
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
			if key := r.Sessions[i].Key.Name; CursorNumber(namespace, key) == n {
				return key, nil
			}
		}
		if q.Cursor = r.Cursor; q.Cursor == "" {
			return "", ErrLostCursor
		}
	}
}
