package recall

import "sync"

// tally counts while many ask.
type tally struct {
	mu sync.Mutex
	Accuracy
}

func (t *tally) count(right bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Asked++
	if right {
		t.Right++
	}
}
