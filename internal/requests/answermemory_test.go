package requests

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/answers"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// What a node answers for others is charged from before it is made until it is encoded.
func TestAnswersForOtherNodesAreCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Memory: answers.NewBudget(turn.Limits{ReadBytes: 1 << 20, MessageBytes: 1 << 20}, time.Minute)}
		payload, err := codec.EncodeQuery(&turn.GetString{Key: turn.Key{Namespace: "0", Name: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		outcomes := func() (kinds []turn.Kind) {
			var asking sync.WaitGroup
			var mu sync.Mutex
			for range 4 {
				asking.Go(func() {
					b, err := s.answerQuery(t.Context(), payload,
						func(ctx context.Context, q turn.Query) (turn.Result, error) {
							return answers.Make(ctx, q, func(q turn.Query) (turn.Result, error) {
								if _, info := q.(*turn.Info); info {
									return turn.Result{Session: &turn.Session{Bytes: 1 << 20, Count: 1}}, nil
								}
								time.Sleep(time.Minute)
								return turn.Result{Value: make([]byte, 1<<20)}, nil
							})
						})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					if _, f, _ := open(b); f != nil {
						kinds = append(kinds, f.Err.Kind)
					}
				})
			}
			asking.Wait()
			return kinds
		}
		for range 2 {
			if failed := outcomes(); len(failed) != 1 || failed[0] != turn.Overloaded {
				t.Errorf("of four answers fail %v", failed)
			}
		}
	})
}
