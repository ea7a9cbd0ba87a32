package workload

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// Session is a session that workers share.
type Session struct {
	Key turn.Key
	ttl int64 // milliseconds that each append gives it, where the workload is about that
	// kind is the type of value that it is, as Redis calls it, where the workload is about those.
	kind  string
	timed bool // the final reads tell times

	mu sync.Mutex
	// What the latest answer told; workers use it to ask sensible questions,
	// the checker does not.
	last, revision uint64
	calls          int // made, or promised to be
	unknown        int // calls without an answer
	times          [keptTimes]int64
	call           string // token of a tool call without a result
	places         []history.Place
}

// Name is how histories call the session.
func (s *Session) Name() string { return s.Key.Namespace + "/" + s.Key.Name }

// Last returns a last seq that the session had recently.
func (s *Session) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Revision returns a revision that the session had recently.
func (s *Session) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

func (s *Session) answered(c *history.Call, r *history.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Revision >= s.revision && !c.Stale {
		s.revision = r.Revision
	}
	s.last = max(s.last, r.Last)
	s.noteTimes(r.Messages)
	if len(r.Places) > 0 {
		s.places = r.Places
	}
}

// seen returns what the keys of the session held recently, if that is known, and forgets it unless told to keep it.
func (s *Session) seen(keep bool) []history.Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	places := s.places
	if !keep {
		s.places = nil
	}
	return places
}

// called counts a call that was not promised when the session was picked.
func (s *Session) called() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
}

func (s *Session) conflicted(revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision = max(s.revision, revision)
}

// pool is the sessions of a workload. A few are in use at a time; one that has
// seen enough is retired for a new one. That bounds the final reads, keeps
// retries within the 1,024 messages whose ids are remembered, and keeps what is
// judged by search small.
type pool struct {
	w *Workload

	mu      sync.Mutex
	active  []*Session
	all     []*Session
	counter int
}

func newPool(w *Workload) *pool {
	p := &pool{w: w, active: make([]*Session, w.Sessions)}
	for i := range p.active {
		p.active[i] = p.newLocked(i)
	}
	return p
}

// newLocked makes the next session for place i. Where a workload has several
// namespaces, sessions of the same name live in each of them.
func (p *pool) newLocked(i int) *Session {
	namespaces := p.w.namespaces()
	s := &Session{Key: turn.Key{
		Namespace: namespaces[i%len(namespaces)],
		Name:      fmt.Sprintf("%s-%d", p.w.Name, p.counter/len(namespaces)),
	}, timed: p.w.Timed}
	if len(p.w.TTLs) > 0 {
		s.ttl = p.w.TTLs[p.counter%len(p.w.TTLs)]
	}
	if kinds := p.w.Values; len(kinds) > 0 {
		s.kind = kinds[p.counter%len(kinds)]
	}
	p.counter++
	p.all = append(p.all, s)
	return s
}

// pick returns a session for one more call.
func (p *pool) pick(r *rand.Rand) *Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := r.IntN(len(p.active))
	s := p.active[i]
	s.mu.Lock()
	full := s.calls >= p.w.Calls || p.w.Unknowns > 0 && s.unknown >= p.w.Unknowns
	s.mu.Unlock()
	if full {
		// All places retire together where the names must go together.
		for k := range p.active {
			if k == i || len(p.w.namespaces()) > 1 {
				p.active[k] = p.newLocked(k)
			}
		}
		s = p.active[i]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return s
}

// sessions returns every session so far.
func (p *pool) sessions() []*Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*Session(nil), p.all...)
}

// retired reports whether no further call will be made on s.
func (p *pool) retired(s *Session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.active {
		if a == s {
			return false
		}
	}
	return true
}

func (w *Workload) namespaces() []string {
	if len(w.Namespaces) == 0 {
		return []string{turn.DefaultNamespace}
	}
	return w.Namespaces
}

// noteTimes remembers times of messages, of later ones most.
func (s *Session) noteTimes(ms []history.Message) {
	for _, m := range ms {
		if m.Time != 0 {
			s.times[m.Seq%keptTimes] = m.Time
		}
	}
}
