package badstores

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// expiryDefects are what goes wrong with the end of sessions.
var expiryDefects = []Bad{
	{Name: "ttl-not-refreshed", Caught: "edges/ttl-refreshed",
		Defect: "only the first save sets the end of the session", build: allHandles(refreshedIf(never))},
	{Name: "ttl-early", Caught: "edges/ttl-not-early",
		Defect: "the end of the session is rounded down", build: eachHandle(ttlBy(half))},
	{Name: "ttl-300ms-early", Caught: "edges/ttl-not-early",
		Defect: "sessions end 300 ms before their time", build: eachHandle(ttlBy(early))},
	{Name: "ttl-late-refresh", Caught: "edges/ttl-refreshed-late",
		Defect: "a save in the last 300 ms of a session does not move its end",
		build:  allHandles(refreshedIf(beforeTheSweep))},
	{Name: "ttl-rare-refresh", Caught: "edges/ttl-refreshed-at-once",
		Defect: "a save within 300 ms of another one does not move the end",
		build:  allHandles(refreshedIf(nowAndThen))},
}

// shortTTL sets another time to live than it is asked for.
type shortTTL struct {
	*memory.Handle
	change func(time.Duration) time.Duration
}

func ttlBy(change func(time.Duration) time.Duration) wrapper {
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
func refreshedIf(moves func(l lifetime, now time.Time) bool) func() wrapper {
	return func() wrapper {
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
