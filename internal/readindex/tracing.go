package readindex

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// traced gets a read index, and records how long that took if ctx is of a span.
func (r *Reader) traced(ctx context.Context, index func(context.Context) (uint64, bool)) (uint64, bool) {
	span := r.tracer.Within(ctx)
	if span == nil {
		return index(ctx)
	}
	begun := time.Now()
	i, ok := index(ctx)
	span.Part("turnlog.read_index", begun, time.Now(), trace.Number("turnlog.log_index", i))
	return i, ok
}

// waitApplied waits until this node's state machine has applied an entry, and records how long that took if ctx is of
// a span.
func (r *Reader) waitApplied(ctx context.Context, index uint64) error {
	span := r.tracer.Within(ctx)
	if span == nil {
		return r.state.WaitApplied(ctx, index)
	}
	begun := time.Now()
	err := r.state.WaitApplied(ctx, index)
	span.Part("turnlog.wait_applied", begun, time.Now(), trace.Number("turnlog.log_index", index))
	return err
}

// ask has the leader answer an encoded query. again: that node cannot, another may.
func (r *Reader) ask(ctx context.Context, leader string, encoded []byte) (res turn.Result, again bool, err error) {
	r.forwarded.Add(1)
	span := r.tracer.Within(ctx).Begin(trace.Client, "turnlog.forward")
	span.Set(trace.Text("turnlog.leader", leader))
	res, again, err = r.peers.Query(trace.With(ctx, span), leader, span.Context(), encoded)
	if err != nil {
		span.Fail(turn.KindOf(err).String())
	}
	span.End()
	return res, again, err
}
