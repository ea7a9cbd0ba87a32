package blocked

import (
	"testing"
	"testing/synctest"
)

// While something is taken for a request that waits, CLIENT UNBLOCK waits for what
// becomes of it: it ends the wait of one that got nothing, and no other.
func TestHeldWaitIsNotEnded(t *testing.T) {
	for _, served := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := New(func(string) {})
			b.Begin("blpop")
			b.wait(&waiting{cancel: func() {}})
			if !b.Hold() {
				t.Fatal("a request that waits is not held")
			}
			answer := make(chan bool, 1)
			go func() { answer <- b.End(nil) }()
			synctest.Wait()
			if len(answer) > 0 {
				t.Fatal("CLIENT UNBLOCK has answered already")
			}
			if served {
				b.Finish()
			} else {
				b.Release()
			}
			if ended := <-answer; ended == served {
				t.Errorf("served: %v; ended: %v", served, ended)
			}
			if !served && b.Hold() {
				t.Error("a request whose wait has ended is held")
			}
		})
	}
}
