// Package memory is a memory store that keeps the whole contract but one clause:
// it lives in the process, and what it holds dies with it. It is the reference for
// what the suite expects, and what the suite's own tests begin with.
package memory

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
)

// Server holds the sessions. Its handles may be used by any goroutine.
type Server struct {
	mu         sync.Mutex
	namespaces map[string]map[string]*session // by name, then by key
	states     map[stateKey]map[string]string
	done       map[stateKey]string // transactions, by their ids
	stepped    map[stateKey]stepped
	changes    uint64 // of any session; versions are taken from it
	now        func() time.Time
}

// session is one conversation. A session without messages stays, since it knows
// ids and its version.
type session struct {
	messages []contract.Message
	ids      map[string]contract.Message // every id that was ever saved
	saved    int                         // messages, ever
	numbers  map[string]int              // of messages, by their ids
	version  uint64
	metadata map[string]string
	deadline time.Time // zero: none
	length   int       // that it keeps by itself; 0: any
	broken   int       // place of the message that cannot be read, from 1; 0: none
}

// UnreadableError says that a message of a session cannot be read.
type UnreadableError struct{ Rest []contract.Message } // the others

func (e *UnreadableError) Error() string { return "a message cannot be read" }

// New returns an empty Server.
func New() *Server {
	s := &Server{now: time.Now}
	s.Forget()
	return s
}

// Claims are the promises that Server keeps.
func Claims() contract.Claims {
	return contract.Claims{IDs: true, LateIDs: true, Linearizable: true, Bytes: true, MaxBytes: MaxBytes}
}

// MaxBytes is the length of the longest message.
const MaxBytes = 8 << 20

// Target returns s as a target.
func (s *Server) Target() contract.Target {
	forget := func(context.Context) error { s.Forget(); return nil }
	return contract.Target{
		Name:     "memory:",
		Open:     func(context.Context) (contract.Store, error) { return s.Open(), nil },
		Claims:   Claims(),
		Restarts: []contract.Restart{{Kind: contract.CanStop, Do: forget}, {Kind: contract.CanKill, Do: forget}},
	}
}

// Forget is what the end of the process does.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namespaces = map[string]map[string]*session{}
	s.states, s.done, s.stepped = map[stateKey]map[string]string{}, map[stateKey]string{}, map[stateKey]stepped{}
}

// Open returns a handle.
func (s *Server) Open() *Handle { return &Handle{server: s} }

// session returns the session of that key, nil if there is none and it is not to
// be created.
func (s *Server) sessionLocked(namespace, key string, create bool) *session {
	keys := s.namespaces[namespace]
	if keys == nil {
		keys = map[string]*session{}
		s.namespaces[namespace] = keys
	}
	ss := keys[key]
	if ss != nil && !ss.deadline.IsZero() && !s.now().Before(ss.deadline) {
		delete(keys, key)
		ss = nil
	}
	if ss == nil && create {
		ss = &session{ids: map[string]contract.Message{}, numbers: map[string]int{}}
		keys[key] = ss
	}
	return ss
}

func (s *Server) changedLocked(ss *session) {
	s.changes++
	ss.version = s.changes
}

// add is every kind of append. version "" is no condition.
func (s *Server) add(namespace, key, version string, ttl time.Duration, turn []contract.Message) error {
	if err := checkTurn(key, turn); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessionLocked(namespace, key, true)
	if known, err := ss.knows(turn); known || err != nil {
		return err
	}
	if version != "" && version != ss.versionText() {
		return contract.ErrConflict
	}
	if ttl > 0 {
		ss.deadline = s.now().Add(ttl)
	}
	s.saveLocked(ss, turn)
	return nil
}

// checkTurn refuses what the server does not hold.
func checkTurn(key string, turn []contract.Message) error {
	for _, m := range turn {
		if len(m.Content) > MaxBytes {
			return contract.Refusef("a message of %d bytes is longer than %d", len(m.Content), MaxBytes)
		}
	}
	if key == "" || len(key) > 512 {
		return contract.Refusef("a key of %d bytes", len(key))
	}
	return nil
}

// saveLocked adds a turn to a session.
func (s *Server) saveLocked(ss *session, turn []contract.Message) {
	for _, m := range clone(turn) {
		ss.messages = append(ss.messages, m)
		if ss.saved++; m.ID != "" {
			ss.ids[m.ID], ss.numbers[m.ID] = m, ss.saved
		}
	}
	if ss.length > 0 {
		ss.keep(ss.length)
	}
	s.changedLocked(ss)
}

func (ss *session) versionText() string {
	if ss == nil {
		return "0"
	}
	return strconv.FormatUint(ss.version, 10)
}

// knows reports whether a turn was saved before, under its ids.
func (ss *session) knows(turn []contract.Message) (bool, error) {
	known := 0
	for _, m := range turn {
		old, ok := ss.ids[m.ID]
		switch {
		case !ok:
		case !old.Equal(m):
			return false, contract.ErrConflict
		default:
			known++
		}
	}
	if known > 0 && known < len(turn) {
		return false, contract.ErrConflict
	}
	return known > 0, nil
}

// clone copies messages so deep that no two share memory that can change.
func clone(ms []contract.Message) []contract.Message {
	out := slices.Clone(ms)
	for i := range out {
		out[i].ToolCalls = slices.Clone(out[i].ToolCalls)
	}
	return out
}

func (s *Server) load(namespace, key string) ([]contract.Message, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessionLocked(namespace, key, false)
	if ss == nil {
		return nil, ss.versionText(), nil
	}
	ms := clone(ss.messages)
	if ss.broken > 0 {
		return nil, "", &UnreadableError{slices.Delete(ms, ss.broken-1, ss.broken)}
	}
	return ms, ss.versionText(), nil
}

// corrupt makes the second message of a session unreadable.
func (s *Server) corrupt(namespace, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessionLocked(namespace, key, false)
	if ss == nil || len(ss.messages) < 2 {
		return errors.New("the session has no second message")
	}
	ss.broken = 2
	return nil
}

// keep removes all but the n newest messages.
func (s *Server) keep(namespace, key string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss := s.sessionLocked(namespace, key, false); ss != nil && len(ss.messages) > n {
		ss.keep(n)
		s.changedLocked(ss)
	}
}

// keep removes all but the n newest messages.
func (ss *session) keep(n int) {
	cut := max(0, len(ss.messages)-n)
	ss.messages = slices.Clone(ss.messages[cut:])
	ss.broken = max(0, ss.broken-cut)
}

// retain has a session keep its n newest messages from here on.
func (s *Server) retain(namespace, key string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessionLocked(namespace, key, true)
	ss.length = n
	ss.keep(n)
	s.changedLocked(ss)
}

func (s *Server) pop(namespace, key string) (contract.Message, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessionLocked(namespace, key, false)
	if ss == nil || len(ss.messages) == 0 {
		return contract.Message{}, false, nil
	}
	last := len(ss.messages) - 1
	if ss.broken == last+1 {
		return contract.Message{}, false, &UnreadableError{clone(ss.messages[:last])}
	}
	m := ss.messages[last]
	ss.messages = ss.messages[:last:last]
	s.changedLocked(ss)
	return m, true, nil
}

func (s *Server) remove(namespace, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	delete(s.namespaces[namespace], key)
	delete(s.states, stateKey{namespace, key})
}

func (s *Server) list(namespace, prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for key := range s.namespaces[namespace] {
		if ss := s.sessionLocked(namespace, key, false); ss != nil && len(ss.messages) > 0 &&
			strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
	}
	return out
}
