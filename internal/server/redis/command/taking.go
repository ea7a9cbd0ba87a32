package command

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/waitqueue"
	"github.com/turnlog/turnlog/turn"
)

// forever is how long a request waits that is to wait as long as it takes.
const forever = 100 * 365 * 24 * time.Hour

// taking is a removal from the first of several lists that holds something, which
// may wait until one does.
type taking struct {
	req   *Request
	keys  []turn.Key
	op    func(keys []turn.Key) turn.Op // of those that hold a list
	done  func(w *resp.Writer, k turn.Key, r turn.Result)
	none  Reply         // there was nothing
	wait  bool          // for something, at most …
	block time.Duration // … so long; 0: for ever
	// refused says whether the user may still take something.
	refused func() Error
}

// take makes the action of a request. In a transaction it does not wait.
func (req *Request) take(t taking, args [][]byte) Action {
	if !t.wait || req.Queued {
		return &Write{Keys: t.keys, Op: t.op(t.keys),
			Done: func(w *resp.Writer, r turn.Result) { t.answer(w, t.keys, r) }}
	}
	t.req, t.refused = req, req.Client.Permission(req.Command, args)
	return &Wait{Run: t.run, Linearizable: true}
}

// waiting is a taking as its queues see it.
type waiting struct{ *taking }

func (t waiting) Op(keys []turn.Key) turn.Op { return t.op(keys) }

func (t waiting) Refused() error {
	if refusal := t.refused(); refusal != "" {
		return refusal
	}
	return nil
}

func (t waiting) Hold() bool { return t.req.Client.Gone().Err() == nil && t.req.Client.Hold() }
func (t waiting) Release()   { t.req.Client.Release() }

func (t *taking) answer(w *resp.Writer, keys []turn.Key, r turn.Result) {
	if !r.Found {
		t.none(w)
		return
	}
	t.done(w, keys[r.Number], r)
}

// run waits until one of the keys holds a list, and takes from it in an operation of its
// own, or another request does that for it: see waitqueue.Queues. If another client was first, it
// keeps waiting. Nothing is taken for a client that is known to have disconnected. When its time is over
// it looks once more, since this node can be behind the others.
func (t *taking) run(ctx context.Context) (Reply, error) {
	b := t.req.Backend
	changed, stop := b.watchAll(t.keys)
	defer stop()
	w := &waitqueue.Waiter{Request: waiting{t}, Keys: t.keys, Look: changed}
	b.queues.Join(w)
	defer b.queues.Leave(w)
	until := b.now().Add(cmp.Or(t.block, forever))
	index := uint64(0)
	for first := true; ; first = false {
		gone := t.req.Client.HasLeft() || until.IsZero() // the client has left, or CLIENT UNBLOCK has ended it
		if out := b.queues.Outcome(w, gone); gone || out != nil {
			return t.end(out)
		}
		late := !first && (t.req.Client.Gone().Err() != nil || !b.now().Before(until))
		if late {
			index = 0 // linearizable
		}
		found, err := t.find(ctx, w, &index, first || late)
		if err == nil && first && found.wrongType {
			err = ErrWrongType
		}
		if err != nil {
			return t.fail(w, err)
		}
		if served := b.queues.Claim(w, found.lists, found.n); len(served) > 0 {
			do := func(op turn.Op) (turn.Result, error) { return b.engine.Submit(ctx, op).Wait() }
			index = max(index, b.queues.TakeFor(served, found.lists, do))
			continue
		}
		if late && !found.any {
			return t.end(b.queues.Outcome(w, true))
		}
		if err := t.await(changed, &until, late); err != nil {
			return t.fail(w, err)
		}
	}
}

// behindWait is how long a request goes on after its time is over if there are lists, from
// which others take that wait for longer.
const behindWait = 5 * time.Second

// await waits for a change, or for the end of the request's time; if that is over, until those
// are served that wait for longer.
func (t *taking) await(changed <-chan struct{}, until *time.Time, late bool) error {
	if !late {
		return t.req.Client.WaitFor(changed, until)
	}
	if t.req.Client.Gone().Err() != nil || t.req.Backend.now().Sub(*until) > behindWait {
		return turn.Errorf(turn.Unavailable, "clients that have waited longer for the list were not served in time")
	}
	return t.req.Client.WaitAtMost(changed, waitPoll, until)
}

// end answers with what was taken.
func (t *taking) end(out *waitqueue.Taken) (Reply, error) {
	switch {
	case out == nil && t.req.Client.HasLeft():
		return nil, ErrLeft
	case out == nil:
		return t.none, nil
	case out.Err != nil:
		return nil, out.Err
	}
	t.req.Client.NoteWrite(out.Result.Index)
	return func(w *resp.Writer) { t.answer(w, out.Keys, out.Result) }, nil
}

// fail answers with an error, unless something was taken by then.
func (t *taking) fail(w *waitqueue.Waiter, err error) (Reply, error) {
	if out := t.req.Backend.queues.Outcome(w, true); out != nil {
		return t.end(out)
	}
	return nil, err
}

// found is what a request that waits for lists has found.
type found struct {
	lists     []turn.Key // that no other request of this node waits for longer
	n         uint64     // elements of the first of them
	any       bool       // one of the keys that were looked at holds a list
	wrongType bool       // one of them holds another type, and none before it a list
}

// find looks at those of the keys of which no other request of this node waits for longer,
// or at all of them.
func (t *taking) find(ctx context.Context, w *waitqueue.Waiter, index *uint64, all bool) (f found, err error) {
	own := t.req.Backend.queues.First(w, t.keys)
	keys := own
	if all {
		keys = t.keys
	}
	for _, k := range keys {
		r, err := t.req.Backend.Since(ctx, *index, InfoOf(k))
		if err != nil {
			return f, err
		}
		*index = max(*index, r.Index)
		switch {
		case !exists(r):
		case r.Session.Type != turn.TypeList:
			f.wrongType = f.wrongType || !f.any
		default:
			f.any = true
			if !slices.Contains(own, k) {
				continue
			}
			if f.lists = append(f.lists, k); len(f.lists) == 1 {
				f.n = r.Session.Count
			}
		}
	}
	return f, nil
}
