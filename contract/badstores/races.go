package badstores

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/contract/memory"
)

// raceDefects are what goes wrong between callers.
var raceDefects = []Bad{
	{Name: "read-modify-write", Caught: "concurrency/many-handles",
		Also:   []string{"concurrency/one-handle", "concurrency/first-turn"},
		Defect: "append reads the whole list, adds to it and writes it back", build: allHandles(readModifyWrite)},
	{Name: "shared-buffer", Caught: "isolation/same-instant", Also: []string{"concurrency/many-sessions"},
		Defect: "one object holds the current session, for all conversations", build: eachHandle(sharedBuffer)},
	{Name: "write-behind", Caught: "sequential/saved-means-saved",
		Defect: "save returns before it has written", build: eachHandle(writeBehind)},
	{Name: "one-by-one", Caught: "concurrency/turns-whole",
		Defect: "the messages of a turn are saved one after another", build: eachHandle(oneByOne)},
	{Name: "stale-replica", Caught: "concurrency/linearizable", Also: []string{"concurrency/own-writes"},
		Defect: "loads are answered by a replica that lags behind", build: eachHandle(staleReplica)},
	{Name: "check-then-act", Caught: "conflict/one-winner", Also: []string{"conflict/one-founder"},
		Defect: "the condition is checked first, and the append made later", build: eachHandle(checkThenAct)},
	{Name: "reading-cache", Caught: "sequential/second-handle",
		Defect: "a handle caches the history that it has read", build: eachHandle(readingCache)},
	{Name: "keeps-slices", Caught: "isolation/caller-keeps-slice",
		Defect: "the caller's slices are stored and handed out without a copy", build: allHandles(keepsSlices)},
}

// hop is how long a request to the next machine takes.
const hop = 200 * time.Microsecond

// getSet keeps each session under a key that can only be read and written whole.
type getSet struct {
	*memory.Handle
	mu   *sync.Mutex
	data map[string][]contract.Message
}

func readModifyWrite() wrapper {
	mu, data := new(sync.Mutex), map[string][]contract.Message{}
	return func(h *memory.Handle) contract.Store { return &getSet{h, mu, data} }
}

func (s *getSet) get(key string) []contract.Message {
	time.Sleep(hop)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data[key]
}

func (s *getSet) set(key string, ms []contract.Message) {
	time.Sleep(hop)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[key] = ms
}

func (s *getSet) Add(_ context.Context, session string, turn ...contract.Message) error {
	history := s.get(session)
	s.set(session, append(history[:len(history):len(history)], turn...))
	return nil
}

func (s *getSet) Load(_ context.Context, session string) ([]contract.Message, error) {
	return s.get(session), nil
}

func (s *getSet) Clear(_ context.Context, session string) error {
	s.set(session, nil)
	return nil
}

// current is one memory object that serves whichever conversation was named last.
type current struct {
	*memory.Handle
	mu      sync.Mutex
	session string
}

func sharedBuffer(h *memory.Handle) contract.Store { return &current{Handle: h} }

func (s *current) enter(session string) {
	s.mu.Lock()
	s.session = session
	s.mu.Unlock()
}

func (s *current) here() string {
	time.Sleep(hop) // the model is thinking
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

func (s *current) Add(ctx context.Context, session string, turn ...contract.Message) error {
	s.enter(session)
	return s.Handle.Add(ctx, s.here(), turn...)
}

// behind writes after it has returned.
type behind struct {
	*memory.Handle
	mu sync.Mutex
}

func writeBehind(h *memory.Handle) contract.Store { return &behind{Handle: h} }

func (s *behind) Add(_ context.Context, session string, turn ...contract.Message) error {
	s.mu.Lock() // so that at least the order is kept
	go func() {
		defer s.mu.Unlock()
		time.Sleep(10 * hop)
		s.Handle.Add(context.Background(), session, turn...)
	}()
	return nil
}

type piecemeal struct{ *memory.Handle }

func oneByOne(h *memory.Handle) contract.Store { return piecemeal{h} }

func (s piecemeal) Add(ctx context.Context, session string, turn ...contract.Message) error {
	for _, m := range turn {
		if err := s.Handle.Add(ctx, session, m); err != nil {
			return err
		}
		time.Sleep(hop)
	}
	return nil
}

// replica answers loads with what was there a while ago.
type replica struct {
	*memory.Handle
	mu   sync.Mutex
	seen map[string]snapshot
}

type snapshot struct {
	messages []contract.Message
	taken    time.Time
}

const lag = 20 * hop

func staleReplica(h *memory.Handle) contract.Store {
	return &replica{Handle: h, seen: map[string]snapshot{}}
}

func (s *replica) Load(ctx context.Context, session string) ([]contract.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.seen[session]; time.Since(old.taken) < lag {
		return old.messages, nil
	}
	ms, err := s.Handle.Load(ctx, session)
	if err == nil {
		s.seen[session] = snapshot{ms, time.Now()}
	}
	return ms, err
}

type checking struct{ *memory.Handle }

func checkThenAct(h *memory.Handle) contract.Store { return checking{h} }

func (s checking) AddIf(ctx context.Context, session, version string, turn ...contract.Message) error {
	_, now, err := s.LoadVersion(ctx, session)
	if err != nil {
		return err
	}
	if now != version {
		return contract.ErrConflict
	}
	time.Sleep(hop)
	return s.Add(ctx, session, turn...)
}

// cache remembers what it has read, and what it has saved itself.
type cache struct {
	*memory.Handle
	mu   sync.Mutex
	seen map[string][]contract.Message
}

func readingCache(h *memory.Handle) contract.Store {
	return &cache{Handle: h, seen: map[string][]contract.Message{}}
}

func (s *cache) Load(ctx context.Context, session string) ([]contract.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ms, ok := s.seen[session]; ok {
		return ms, nil
	}
	ms, err := s.Handle.Load(ctx, session)
	if err == nil {
		s.seen[session] = ms
	}
	return ms, err
}

func (s *cache) Add(ctx context.Context, session string, turn ...contract.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, session)
	return s.Handle.Add(ctx, session, turn...)
}

func (s *cache) Clear(ctx context.Context, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, session)
	return s.Handle.Clear(ctx, session)
}

// aliasing stores the very slices that it is given.
type aliasing struct {
	*memory.Handle
	mu   *sync.Mutex
	data map[string][][]contract.Message
}

func keepsSlices() wrapper {
	mu, data := new(sync.Mutex), map[string][][]contract.Message{}
	return func(h *memory.Handle) contract.Store { return &aliasing{h, mu, data} }
}

func (s *aliasing) Add(_ context.Context, session string, turn ...contract.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[session] = append(s.data[session], turn)
	return nil
}

func (s *aliasing) Load(_ context.Context, session string) ([]contract.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []contract.Message
	for _, turn := range s.data[session] {
		out = append(out, turn...)
	}
	return out, nil
}

func (s *aliasing) Clear(_ context.Context, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.data, session)
	return nil
}
