package command

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/internal/answers"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/glob"
	"github.com/turnlog/turnlog/turn"
)

// delBatch is how many keys DEL deletes at once.
const delBatch = 1000

// del is DEL and UNLINK. Beyond delBatch keys it is not atomic.
func del(req *Request, args [][]byte) Action {
	keys := make([]turn.Key, 0, len(args)-1)
	for _, a := range args[1:] {
		keys = append(keys, req.key(a))
	}
	if len(keys) <= delBatch {
		return &Write{Op: &turn.Delete{Keys: keys, List: true}, Keys: keys,
			Done: func(w *resp.Writer, r turn.Result) { counted(w, r.Removed) }}
	}
	return Alone(func(ctx context.Context) (Reply, error) {
		var batches []Pending
		for batch := range slices.Chunk(keys, delBatch) {
			batches = append(batches, req.Backend.engine.Submit(ctx, &turn.Delete{Keys: batch, List: true}))
		}
		removed, failed := uint64(0), error(nil)
		for _, p := range batches { // of all, before anything is answered
			r, err := p.Wait()
			req.Client.NoteWrite(r.Index)
			removed += r.Removed
			if err != nil && (failed == nil || turn.KindOf(err) == turn.Unknown) {
				failed = err
			}
		}
		if failed != nil {
			return nil, partly(failed, removed)
		}
		return Count(removed), nil
	})
}

// partly is the error of a command in several steps: if some took place, it must
// not look as if nothing had been done.
func partly(err error, removed uint64) error {
	e := turn.AsError(err)
	if removed == 0 {
		return e
	}
	return turn.Errorf(turn.Unknown, "%d keys were deleted, then: %s", removed, e.Message)
}

func existing(req *Request, args [][]byte) Action {
	return req.lookUpKeys(args[1:], false, func(els []turn.Element) Reply {
		n := uint64(0)
		for i := range els {
			if !els[i].Missing {
				n++
			}
		}
		return Count(n)
	})
}

// rename makes the handler of RENAME and RENAMENX.
func rename(replace bool) Handler {
	return func(req *Request, args [][]byte) Action {
		op := &turn.Rename{Key: req.key(args[1]), To: req.key(args[2]), Replace: replace, List: true}
		done := sayOK
		if !replace {
			done = sayRemoved
		}
		return &Write{Op: op, Keys: []turn.Key{op.Key, op.To}, Done: done}
	}
}

// InfoOf asks what a key holds.
func InfoOf(k turn.Key) turn.Query { return &turn.Info{Key: k} }

func typeOf(req *Request, args [][]byte) Action {
	k := req.key(args[1])
	return req.read(k, InfoOf(k), func(r turn.Result) (Reply, error) {
		if !exists(r) {
			return Status("none"), nil
		}
		return Status(r.Session.Type.String()), nil
	})
}

// exists reports whether the key of an Info exists as Redis sees it.
func exists(r turn.Result) bool { return r.Session != nil && r.Session.Held() }

// sizeOf makes the handler of LLEN and its kin: how many elements a value of that
// type has.
func sizeOf(typ turn.Type) Handler {
	return func(req *Request, args [][]byte) Action {
		k := req.key(args[1])
		return req.read(k, InfoOf(k), func(r turn.Result) (Reply, error) {
			switch {
			case !exists(r):
				return Count(0), nil
			case r.Session.Type != typ:
				return nil, ErrWrongType
			}
			return Count(r.Session.Count), nil
		})
	}
}

// keysPage is how many sessions are asked for at once to list all of them.
const keysPage = 10_000

// keys is KEYS pattern. It is put together from several pages, so that a key that
// comes or goes meanwhile may or may not be listed; one that stays is.
func keys(req *Request, args [][]byte) Action {
	pattern := string(args[1])
	if long := LongPattern(pattern); long != "" {
		return long
	}
	q := turn.Sessions{Namespace: req.Namespace, Prefix: glob.LiteralPrefix(pattern), Limit: keysPage, List: true}
	user, matching := req.User, glob.Compile(pattern)
	return AloneLinearizable(func(ctx context.Context) (Reply, error) {
		var found []string
		var index uint64
		account := answers.Of(ctx)
		room := req.Backend.engine.Limits().ReadBytes // names are kept until all are found
		for {
			r, err := user.List(q, func(q turn.Sessions) (turn.Result,
				error) {
				return req.Backend.Since(ctx, index, &q)
			})
			if err != nil {
				return nil, err
			}
			for i := range r.Sessions {
				if req.Client.HasLeft() {
					return nil, ErrLeft
				}
				if name := r.Sessions[i].Key.Name; matching.Match(name) {
					if room -= len(name) + nameOverhead; room < 0 {
						return nil, turn.Errorf(turn.TooLarge,
							"KEYS would answer with more than %d keys: SCAN goes through them in pages", len(found))
					}
					if found = append(found, name); account != nil {
						account.Kept(len(name) + nameOverhead)
					}
				}
			}
			if q.Cursor = r.Cursor; q.Cursor == "" {
				return func(w *resp.Writer) { WriteNames(w, found) }, nil
			}
			index = r.Index
		}
	})
}

// nameOverhead is the bookkeeping bytes of a name in an answer.
const nameOverhead = 32

// flush makes the handler of FLUSHDB and FLUSHALL. They delete in steps: keys
// made meanwhile may or may not stay.
func flush(all bool) Handler {
	return func(req *Request, args [][]byte) Action {
		if len(args) > 2 || len(args) == 2 && !Is(args[1], "ASYNC") && !Is(args[1], "SYNC") {
			return ErrSyntax
		}
		namespaces := []string{req.Namespace}
		if all {
			namespaces = Numbered()
		}
		return Alone(func(ctx context.Context) (Reply, error) {
			removed := uint64(0)
			for _, ns := range namespaces {
				n, err := req.erase(ctx, ns, "")
				if removed += n; err != nil {
					return nil, partly(err, removed)
				}
			}
			return Status("OK"), nil
		})
	}
}

// erase deletes all sessions whose names begin with prefix, in steps. It returns
// how many they were, also when it could not finish.
func (req *Request) erase(ctx context.Context, namespace, prefix string) (removed uint64, err error) {
	cursor := ""
	for {
		op := &turn.Erase{Namespace: namespace, Prefix: prefix, Cursor: cursor, Limit: turn.EraseStep}
		r, err := req.do(ctx, op)
		if err != nil {
			return removed, err
		}
		removed += r.Removed
		if cursor = r.Cursor; cursor == "" {
			return removed, nil
		}
		if err := req.Backend.engine.Calm(ctx); err != nil {
			return removed, err
		}
	}
}

// lookUpKeys asks for several keys, all at one revision: in a transaction, or below cluster level 3, by a query for
// each. missing says of the answer to such a query whether the key counts as missing.
func (req *Request) lookUpKeys(names [][]byte, strings bool, answer func([]turn.Element) Reply) *Read {
	if req.Queued || len(names) == 1 || req.Backend.engine.Level() < turn.Level3 {
		return req.readEach(names, eachKey(strings), func(os []Outcome) (Reply, error) {
			els := make([]turn.Element, len(os))
			for i := range os {
				els[i].Value = os[i].Value
				if els[i].Missing = !exists(os[i].Result); strings {
					els[i].Missing = !os[i].Found
				}
			}
			return answer(els), nil
		})
	}
	q := &turn.Lookup{Keys: req.keysOf(names), Strings: strings}
	return &Read{Keys: q.Keys, Queries: []turn.Query{q}, Answer: func(os []Outcome) (Reply, error) {
		if os[0].Err != nil {
			return nil, os[0].Err
		}
		return answer(os[0].Elements), nil
	}}
}

// eachKey is what is asked of one key in place of a Lookup.
func eachKey(strings bool) func(turn.Key) turn.Query {
	if !strings {
		return InfoOf
	}
	return func(k turn.Key) turn.Query { return &turn.GetString{Key: k} }
}
