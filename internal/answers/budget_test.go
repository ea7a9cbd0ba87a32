package answers_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/answers"
	"github.com/turnlog/turnlog/turn"
)

// session is a session of which an answer has size bytes.
func session(size int) func(turn.Query) (turn.Result, error) {
	return func(q turn.Query) (turn.Result, error) {
		if _, info := q.(*turn.Info); info {
			return turn.Result{Session: &turn.Session{Bytes: uint64(size), Count: 1}}, nil
		}
		return turn.Result{Messages: []turn.Message{{Data: make([]byte, size)}}}, nil
	}
}

// Answers to other nodes have a bound together: those that are beyond it wait, and are told if it takes too long.
// Small ones do not wait.
func TestAnswersToOtherNodesHaveABound(t *testing.T) {
	limits := turn.Limits{ReadBytes: 1 << 20, MessageBytes: 1 << 20}
	all := &turn.List{Stop: -1}
	synctest.Test(t, func(t *testing.T) {
		budget := answers.NewBudget(limits, time.Minute)
		var made, failed, most atomic.Int32
		var asking sync.WaitGroup
		ask := func(size int, d time.Duration) {
			asking.Go(func() {
				ctx, leave := budget.In(t.Context())
				defer leave()
				_, err := answers.Make(ctx, all, session(size))
				if turn.Is(err, turn.Overloaded) {
					failed.Add(1)
					return
				}
				if err != nil {
					t.Error(err)
				}
				n := made.Add(1)
				most.Store(max(most.Load(), n))
				time.Sleep(d)
				made.Add(-1)
			})
		}
		for range 10 {
			ask(800<<10, time.Second)
		}
		asking.Wait()
		if most.Load() != 3 || failed.Load() == 0 || failed.Load() > 4 {
			t.Errorf("%d answers at once, %d failed", most.Load(), failed.Load())
		}
		for range 3 {
			ask(900<<10, time.Minute)
		}
		synctest.Wait()
		failed.Store(0)
		before := time.Now()
		_, leave := budget.In(t.Context())
		leave()
		ask(1<<10, 0)
		ask(900<<10, 0)
		asking.Wait()
		if failed.Load() != 1 || time.Since(before) != time.Minute {
			t.Errorf("%d failed, in %v", failed.Load(), time.Since(before))
		}
		ctx, cancel := context.WithCancel(t.Context())
		in, leave := budget.In(ctx)
		if _, err := answers.Make(in, all, session(900<<10)); err != nil {
			t.Errorf("when all is given back: %v", err)
		}
		cancel()
		leave()
		leave() // again
	})
}

// Only so many answers wait for memory, and each ends before the node that awaits it does; others fail at once.
func TestAnswersThatWaitAreBounded(t *testing.T) {
	limits := turn.Limits{ReadBytes: 1 << 20, MessageBytes: 1 << 20}
	synctest.Test(t, func(t *testing.T) {
		const most, awaited = 32, time.Second
		budget := answers.NewBudget(limits, awaited)
		for range 3 {
			ctx, leave := budget.In(t.Context())
			defer leave()
			if _, err := answers.Make(ctx, &turn.List{Stop: -1}, session(900<<10)); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		var asking sync.WaitGroup
		waited := func(ctx context.Context) (d time.Duration) {
			in, leave := budget.In(ctx)
			defer leave()
			_, err := answers.Make(in, &turn.List{Stop: -1}, session(900<<10))
			if !turn.Is(err, turn.Overloaded) {
				t.Errorf("an answer without memory: %v", err)
			}
			return time.Since(began)
		}
		for i := range most {
			asking.Go(func() {
				ctx, before := t.Context(), awaited
				if i == 0 { // one that is awaited for a shorter time
					var cancel context.CancelFunc
					before = awaited / 2
					ctx, cancel = context.WithTimeout(ctx, before)
					defer cancel()
				}
				if d := waited(ctx); d < before/2 || d >= before {
					t.Errorf("an answer that is awaited for %v waits for %v", before, d)
				}
			})
		}
		synctest.Wait()
		if d := waited(t.Context()); d > 0 {
			t.Errorf("one more waits for %v", d)
		}
		asking.Wait()
		began = time.Now()
		if d := waited(t.Context()); d == 0 {
			t.Error("when the others have ended, none waits")
		}
	})
}
