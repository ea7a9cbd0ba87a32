package workload

import (
	"sync"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// Counts says how often workers met what a good run must have met.
type Counts struct {
	Writes     int64 `json:"writes"` // acknowledged
	Reads      int64 `json:"reads"`
	Tailed     int64 `json:"tailed"` // messages seen by subscribers
	Heard      int64 `json:"heard"`  // published messages, received by subscribers
	Duplicates int64 `json:"duplicates"`
	Forgotten  int64 `json:"forgotten"` // appends that were repeated and took place again
	Conflicts  int64 `json:"conflicts"`
	Unknown    int64 `json:"unknown"`   // writes without an answer
	Refused    int64 `json:"refused"`   // calls that surely did not take place
	ReadOnly   int64 `json:"read_only"` // writes refused for want of disk space
	NoRight    int64 `json:"no_right"`  // calls refused for want of a right
	Expired    int64 `json:"expired"`   // reads that found a session gone after its time
	// FinalRetries counts reads after all faults that had to be repeated: the
	// cluster was unavailable although nothing was done to it.
	FinalRetries int64 `json:"final_retries"`
}

type counters struct {
	mu sync.Mutex
	c  Counts
}

func (k *counters) snapshot() Counts {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.c
}

func (k *counters) ok(c *history.Call, r *history.Result, s *Session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case c.Func == history.Tail:
		k.c.Tailed += int64(len(r.Messages))
	case c.Func == history.Listen:
		k.c.Heard += int64(len(r.Messages))
	case !c.Func.Writes():
		k.c.Reads++
		if r.Last == 0 && s.ttl > 0 && s.Last() > 0 {
			k.c.Expired++
		}
	case r.Duplicate:
		k.c.Duplicates++
		k.c.Writes++
	default:
		k.c.Writes++
		if c.Again {
			k.c.Forgotten++
		}
	}
}

func (k *counters) failed(c *history.Call, kind turn.Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case kind == turn.Conflict:
		k.c.Conflicts++
	case kind == turn.ReadOnly:
		k.c.ReadOnly++
	case kind == turn.Unauthorized, kind == turn.Forbidden:
		k.c.NoRight++
	case kind == turn.Unknown && c.Func.Writes():
		k.c.Unknown++
	default:
		k.c.Refused++
	}
}

func (k *counters) finalRetry() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.c.FinalRetries++
}
