package fsm

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A client that reads a list while elements are replaced sees each as it was at one moment.
func TestReadersWhileElementsAreReplaced(t *testing.T) {
	r := newRig(t)
	const n = 200
	r.listOf(n)
	r.flush()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				res, err := r.m.Query(&turn.List{Key: sessionA, Start: 0, Stop: -1})
				if err != nil || len(res.Messages) != n {
					t.Errorf("%d messages, %v", len(res.Messages), err)
					return
				}
				// Rounds go through the list from its beginning.
				before := ""
				for i, m := range res.Messages {
					round, _, _ := strings.Cut(string(m.Data), "/")
					if len(round) == len(string(m.Data)) {
						round = "00" // as appended
					}
					if i > 0 && round > before {
						t.Errorf("element %d is of round %s, the one before of %s", i, round, before)
						return
					}
					before = round
				}
			}
		})
	}
	for round := range 15 {
		for i := range n {
			r.apply(2, &turn.SetElement{Key: sessionA, Index: int64(i),
				Data: []byte(fmt.Sprintf("%02d/%d", round+1, i))})
		}
		if round%3 == 0 {
			r.flushWarm()
		}
	}
	close(done)
	wg.Wait()
}
