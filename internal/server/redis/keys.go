package redis

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// delBatch is how many keys DEL deletes at once.
const delBatch = 1000

// del is DEL and UNLINK. Beyond delBatch keys it is not atomic.
func del(c *conn, args [][]byte) Action {
	keys := make([]turn.Key, 0, len(args)-1)
	for _, a := range args[1:] {
		keys = append(keys, c.key(a))
	}
	if len(keys) <= delBatch {
		return &Write{Op: &turn.Delete{Keys: keys, List: true}, Keys: keys,
			Done: func(w *resp.Writer, r turn.Result) { counted(w, r.Removed) }}
	}
	return alone(func(ctx context.Context) (Reply, error) {
		var batches []Pending
		for batch := range slices.Chunk(keys, delBatch) {
			batches = append(batches, c.srv.engine.Submit(ctx, &turn.Delete{Keys: batch, List: true}))
		}
		removed, failed := uint64(0), error(nil)
		for _, p := range batches { // of all, before anything is answered
			r, err := p.Wait()
			c.order.noteWrite(r.Index)
			removed += r.Removed
			if err != nil && (failed == nil || turn.KindOf(err) == turn.Unknown) {
				failed = err
			}
		}
		if failed != nil {
			return nil, partly(failed, removed)
		}
		return count(removed), nil
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

func existing(c *conn, args [][]byte) Action {
	return c.readEach(args[1:], infoOf, func(os []outcome) (Reply, error) {
		n := uint64(0)
		for i := range os {
			if exists(os[i].Result) {
				n++
			}
		}
		return count(n), nil
	})
}

func infoOf(k turn.Key) turn.Query { return &turn.Info{Key: k} }

func typeOf(c *conn, args [][]byte) Action {
	k := c.key(args[1])
	return c.read(k, infoOf(k), func(r turn.Result) (Reply, error) {
		if !exists(r) {
			return status("none"), nil
		}
		return status(r.Session.Type.String()), nil
	})
}

// exists reports whether the key of an Info exists as Redis sees it.
func exists(r turn.Result) bool { return r.Session != nil && r.Session.Held() }

// sizeOf makes the handler of LLEN and its kin: how many elements a value of that
// type has.
func sizeOf(typ turn.Type) handler {
	return func(c *conn, args [][]byte) Action {
		k := c.key(args[1])
		return c.read(k, infoOf(k), func(r turn.Result) (Reply, error) {
			switch {
			case !exists(r):
				return count(0), nil
			case r.Session.Type != typ:
				return nil, errWrongType
			}
			return count(r.Session.Count), nil
		})
	}
}

// keysPage is how many sessions are asked for at once to list all of them.
const keysPage = 10_000

// keys is KEYS pattern. It is put together from several pages, so that a key that
// comes or goes meanwhile may or may not be listed; one that stays is.
func keys(c *conn, args [][]byte) Action {
	pattern := string(args[1])
	q := turn.Sessions{Namespace: c.namespace, Prefix: literalPrefix(pattern), Limit: keysPage, List: true}
	user := c.who.user
	return alone(func(ctx context.Context) (Reply, error) {
		var found []string
		var index uint64
		room := c.srv.engine.Limits().ReadBytes // names are kept until all are found
		for {
			r, err := user.List(q, func(q turn.Sessions) (turn.Result, error) { return c.srv.since(ctx, index, &q) })
			if err != nil {
				return nil, err
			}
			for i := range r.Sessions {
				if name := r.Sessions[i].Key.Name; match(pattern, name) {
					if room -= len(name) + nameOverhead; room < 0 {
						return nil, turn.Errorf(turn.TooLarge, "KEYS would answer with more than %d keys: SCAN goes through them in pages", len(found))
					}
					found = append(found, name)
				}
			}
			if q.Cursor = r.Cursor; q.Cursor == "" {
				return func(w *resp.Writer) { writeNames(w, found) }, nil
			}
			index = r.Index
		}
	})
}

// nameOverhead is the bookkeeping bytes of a name in an answer.
const nameOverhead = 32

func writeNames(w *resp.Writer, names []string) {
	w.Array(len(names))
	for _, n := range names {
		w.BulkString(n)
	}
}

// flush makes the handler of FLUSHDB and FLUSHALL. They delete in steps: keys
// made meanwhile may or may not stay.
func flush(all bool) handler {
	return func(c *conn, args [][]byte) Action {
		if len(args) > 2 || len(args) == 2 && !is(args[1], "ASYNC") && !is(args[1], "SYNC") {
			return errSyntax
		}
		namespaces := []string{c.namespace}
		if all {
			namespaces = c.srv.databases
		}
		return alone(func(ctx context.Context) (Reply, error) {
			removed := uint64(0)
			for _, ns := range namespaces {
				n, err := c.erase(ctx, ns, "")
				if removed += n; err != nil {
					return nil, partly(err, removed)
				}
			}
			return status("OK"), nil
		})
	}
}

// erase deletes all sessions whose names begin with prefix, in steps. It returns
// how many they were, also when it could not finish.
func (c *conn) erase(ctx context.Context, namespace, prefix string) (removed uint64, err error) {
	cursor := ""
	for {
		op := &turn.Erase{Namespace: namespace, Prefix: prefix, Cursor: cursor, Limit: turn.EraseStep}
		r, err := c.do(ctx, op)
		if err != nil {
			return removed, err
		}
		removed += r.Removed
		if cursor = r.Cursor; cursor == "" {
			return removed, nil
		}
		if err := c.srv.engine.Calm(ctx); err != nil {
			return removed, err
		}
	}
}
