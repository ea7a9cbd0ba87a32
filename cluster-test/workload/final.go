package workload

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/lincheck/value"
	"github.com/turnlog/turnlog/turn"
)

// finalReader reads whole sessions at every node, over HTTP, and values as Redis does.
type finalReader struct {
	run     *Run
	process int
	apis    []API // by node
	values  []API
}

// finalUser is the number of a user who keeps all rights.
const finalUser = 4

func newFinalReader(r *Run) *finalReader {
	f := &finalReader{run: r, process: r.newProcess()}
	for _, n := range r.cluster.Nodes {
		f.apis = append(f.apis, open(HTTP, r.cluster, n, r.user(finalUser)))
		f.values = append(f.values, open(VALUES, r.cluster, n, r.user(finalUser)))
	}
	return f
}

func (f *finalReader) close() {
	for _, d := range slices.Concat(f.apis, f.values) {
		d.Close()
	}
}

// read reads s at each node: the node's own state at all but one of them.
func (f *finalReader) read(ctx context.Context, s *Session) error {
	for i := range f.apis {
		for {
			err := f.attempt(ctx, i, s)
			if err == nil {
				break
			}
			// An election can come about without any fault, on a busy machine.
			// Repetitions are counted, and reported.
			if !turn.AsError(err).Retry() || !sleep(ctx, 50*time.Millisecond) {
				return fmt.Errorf("final read of %s at %s: %w", s.Name(), f.run.cluster.Nodes[i].ID, err)
			}
			f.run.counters.finalRetry()
		}
	}
	return nil
}

func (f *finalReader) attempt(ctx context.Context, i int, s *Session) error {
	if s.kind == "" {
		c := history.Call{Func: history.Read, Final: true, Stale: i != 0, Timed: s.timed}
		return f.ask(i, HTTP, s, c, func() (history.Result, error) { return pages(ctx, f.apis[i], s.Key, c) })
	}
	for _, command := range value.Whole(s.kind) {
		c := history.Call{Func: history.Ask, Final: true, Command: command}
		if err := f.ask(i, VALUES, s, c,
			func() (history.Result, error) { return f.values[i].Do(ctx, s.Key, &c) }); err != nil {
			return err
		}
	}
	return nil
}

// ask records a call and how it ends.
func (f *finalReader) ask(i int, api string, s *Session, c history.Call, do func() (history.Result, error)) error {
	op, err := f.run.rec.Invoke(f.process, f.run.cluster.Nodes[i].ID, api, s.Name(), c)
	if err != nil {
		return f.run.fail(err)
	}
	r, err := do()
	if err != nil {
		e := turn.AsError(err)
		f.run.rec.Return(f.process, op, history.Info, nil, &history.Error{Code: e.Kind.String(), Message: err.Error()})
		f.process = f.run.newProcess()
		return err
	}
	f.run.rec.Return(f.process, op, history.OK, &r, nil)
	return nil
}

const pageSize = 500

// pages reads a session to its end.
func pages(ctx context.Context, d API, key turn.Key, c history.Call) (history.Result, error) {
	var whole history.Result
	for c.N = pageSize; ; {
		r, err := d.Do(ctx, key, &c)
		if err != nil {
			return whole, err
		}
		r.Messages = append(whole.Messages, r.Messages...)
		more := r.More && len(r.Messages) > len(whole.Messages)
		whole = r
		whole.More = false
		if !more {
			return whole, nil
		}
		c.Seq = whole.Messages[len(whole.Messages)-1].Seq
	}
}
