package badstores

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// shortTTL sets another time to live than it is asked for.
type shortTTL struct {
	*memory.Handle
	change func(time.Duration) time.Duration
}

func ttlBy(change func(time.Duration) time.Duration) func(*memory.Handle) contract.Store {
	return func(h *memory.Handle) contract.Store { return shortTTL{h, change} }
}

func (s shortTTL) AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...contract.Message) error {
	return s.Handle.AddTTL(ctx, session, s.change(ttl), turn...)
}

func half(ttl time.Duration) time.Duration  { return ttl / 2 }
func early(ttl time.Duration) time.Duration { return ttl - 300*time.Millisecond }

// ends knows when each session ends, and decides whether a save moves that moment.
type ends struct {
	mu    sync.Mutex
	of    map[string]lifetime
	moves func(l lifetime, now time.Time) bool
}

type lifetime struct{ set, end time.Time }

type refreshing struct {
	*memory.Handle
	ends *ends
}

// refreshedIf returns stores in which a save to a session that is there moves its
// end only if moves says so.
func refreshedIf(moves func(l lifetime, now time.Time) bool) func() func(*memory.Handle) contract.Store {
	return func() func(*memory.Handle) contract.Store {
		e := &ends{of: map[string]lifetime{}, moves: moves}
		return func(h *memory.Handle) contract.Store { return refreshing{h, e} }
	}
}

func (s refreshing) AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...contract.Message) error {
	s.ends.mu.Lock()
	defer s.ends.mu.Unlock()
	now := time.Now()
	l := s.ends.of[session]
	if left := l.end.Sub(now); left > 0 && !s.ends.moves(l, now) {
		ttl = left
	} else {
		s.ends.of[session] = lifetime{now, now.Add(ttl)}
	}
	return s.Handle.AddTTL(ctx, session, ttl, turn...)
}

const shortly = 300 * time.Millisecond

func never(lifetime, time.Time) bool { return false }

// beforeTheSweep: what is about to end is on the list of the next sweep already.
func beforeTheSweep(l lifetime, now time.Time) bool { return l.end.Sub(now) > shortly }

// nowAndThen spares the backend a refresh that follows another one at once.
func nowAndThen(l lifetime, now time.Time) bool { return now.Sub(l.set) > shortly }
