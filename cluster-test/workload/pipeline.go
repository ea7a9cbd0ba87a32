package workload

import (
	"context"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// pipeliner is a API that can send calls without waiting for the answers to those
// before them. The cluster has to carry them out in the order in which they are sent.
type pipeliner interface {
	// pipeline sends the calls of one namespace and tells of each how it ended, in
	// their order.
	pipeline(ctx context.Context, calls []sent, ended func(i int, r history.Result, err error))
}

// sent is a call of a pipeline.
type sent struct {
	session *Session
	call    history.Call
	op      int64
	process int // every call has one of its own, since they overlap
}

// pipeline makes several calls on two sessions at once, and records them. None is
// repeated: one that took place after all would be out of order.
func (w *worker) pipeline(ctx context.Context) {
	limit, hasty := w.limit()
	callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	calls := w.sequence(1 + w.rand.IntN(w.workload.Pipeline))
	for i := range calls {
		c := &calls[i]
		c.call.Hasty, c.call.User = hasty, w.user
		var err error
		if c.op, err = w.run.rec.Invoke(c.process, w.node.ID, w.apiName, c.session.Name(), c.call); err != nil {
			w.run.fail(err)
			return
		}
	}
	lost := false
	w.api.(pipeliner).pipeline(callCtx, calls, func(i int, r history.Result, err error) {
		c := &calls[i]
		err = w.settle(c.process, c.op, c.session, &c.call, &r, err)
		lost = lost || turn.Is(err, turn.Unknown) || turn.Is(err, turn.Unavailable)
	})
	if lost {
		w.move()
	}
	w.run.rest(ctx, len(calls)-1)
}

// sequence makes up calls, on two sessions in turn.
func (w *worker) sequence(n int) []sent {
	sessions := []*Session{w.pool.pick(w.rand), w.pool.pick(w.rand)}
	number := w.run.pipelines.Add(1)
	calls := make([]sent, n)
	for i := range calls {
		s := sessions[w.rand.IntN(2)]
		s.called()
		calls[i] = sent{session: s, call: w.workload.Next(w, s), process: w.run.newProcess()}
		calls[i].call.Pipeline, calls[i].call.Position = number, i+1
	}
	return calls
}
