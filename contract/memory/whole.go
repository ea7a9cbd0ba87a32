package memory

import (
	"context"
	"fmt"
	"maps"

	"github.com/turnlog/turnlog/contract"
)

// What changes as a whole: turns with metadata, states, and transactions over them.

// stateKey is the key of a state, or the id of a transaction.
type stateKey struct{ namespace, name string }

func (s *Server) addWith(
	namespace, key string, metadata map[string]string, mustExist bool, turn []contract.Message,
) error {
	if err := checkTurn(key, turn); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessionLocked(namespace, key, false)
	if ss == nil && mustExist {
		return contract.ErrConflict
	}
	ss = s.sessionLocked(namespace, key, true)
	if known, err := ss.knows(turn); known || err != nil {
		return err
	}
	merged := maps.Clone(metadata)
	for k, v := range ss.metadata {
		if _, set := merged[k]; !set {
			if merged == nil {
				merged = map[string]string{}
			}
			merged[k] = v
		}
	}
	ss.metadata = merged
	s.saveLocked(ss, turn)
	return nil
}

func (s *Server) loadWith(namespace, key string) ([]contract.Message, map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessionLocked(namespace, key, false)
	switch {
	case ss == nil:
		return nil, nil, nil
	case ss.broken > 0:
		return nil, nil, &UnreadableError{}
	}
	return clone(ss.messages), maps.Clone(ss.metadata), nil
}

func (s *Server) setStateLocked(k stateKey, fields map[string]string) {
	if s.states[k] == nil {
		s.states[k] = map[string]string{}
	}
	maps.Copy(s.states[k], fields)
}

func (s *Server) setState(k stateKey, fields map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setStateLocked(k, fields)
}

func (s *Server) state(k stateKey) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.states[k])
}

func (s *Server) transact(namespace, id string, changes []contract.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	content := fmt.Sprintf("%#v", changes)
	if before, known := s.done[stateKey{namespace, id}]; known && before == content {
		return nil
	} else if known {
		return contract.ErrConflict
	}
	for _, c := range changes {
		if err := s.possibleLocked(namespace, c); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if len(c.Turn) > 0 {
			s.saveLocked(s.sessionLocked(namespace, c.Session, true), c.Turn)
		} else {
			s.setStateLocked(stateKey{namespace, c.Session}, c.Fields)
		}
	}
	s.done[stateKey{namespace, id}] = content
	return nil
}

// possibleLocked returns the error that a change would be refused with.
func (s *Server) possibleLocked(namespace string, c contract.Change) error {
	if err := checkTurn(c.Session, c.Turn); err != nil {
		return err
	}
	ss := s.sessionLocked(namespace, c.Session, false)
	if c.Version != "" && c.Version != ss.versionText() {
		return contract.ErrConflict
	}
	if ss == nil {
		return nil
	}
	known, err := ss.knows(c.Turn)
	if known {
		return contract.ErrConflict
	}
	return err
}

func (h *Handle) AddWith(
	ctx context.Context, session string, metadata map[string]string, mustExist bool, turn ...contract.Message,
) error {
	var err error
	lost := h.call(ctx, func() { err = h.server.addWith(h.namespace, session, metadata, mustExist, turn) })
	if lost != nil {
		return lost
	}
	return err
}

func (h *Handle) LoadWith(ctx context.Context, session string) (
	ms []contract.Message, metadata map[string]string, err error,
) {
	if lost := h.call(ctx, func() { ms, metadata, err = h.server.loadWith(h.namespace, session) }); lost != nil {
		return nil, nil, lost
	}
	return ms, metadata, err
}

func (h *Handle) SetState(ctx context.Context, key string, fields map[string]string) error {
	return h.call(ctx, func() { h.server.setState(stateKey{h.namespace, key}, fields) })
}

func (h *Handle) State(ctx context.Context, key string) (fields map[string]string, err error) {
	err = h.call(ctx, func() { fields = h.server.state(stateKey{h.namespace, key}) })
	return fields, err
}

func (h *Handle) Transact(ctx context.Context, id string, changes ...contract.Change) error {
	var err error
	if lost := h.call(ctx, func() { err = h.server.transact(h.namespace, id, changes) }); lost != nil {
		return lost
	}
	return err
}
