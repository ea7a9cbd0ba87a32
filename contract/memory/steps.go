package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/contract"
)

// stepped is a transaction of several steps that took place.
type stepped struct {
	content string
	popped  []contract.Message
}

// copied returns a copy of a session that can be changed apart from it.
func (ss *session) copied() *session {
	c := *ss
	c.messages, c.ids, c.numbers = clone(ss.messages), maps.Clone(ss.ids), maps.Clone(ss.numbers)
	c.metadata = maps.Clone(ss.metadata)
	return &c
}

// transactSteps makes all steps on copies of the sessions, which take their places once every step was possible.
func (s *Server) transactSteps(
	namespace, id string, conditions []contract.Condition, steps []contract.Step,
) ([]contract.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content := fmt.Sprintf("%#v %#v", conditions, steps)
	if before, known := s.stepped[stateKey{namespace, id}]; known && before.content == content {
		return before.popped, nil
	} else if known {
		return nil, contract.ErrConflict
	}
	for _, c := range conditions {
		ss := s.sessionLocked(namespace, c.Session, false)
		if c.Version == "" && ss != nil || c.Version != "" && c.Version != ss.versionText() {
			return nil, contract.ErrConflict
		}
	}
	before, changes := s.namespaces[namespace], s.changes
	s.namespaces[namespace] = map[string]*session{}
	for key, ss := range before {
		s.namespaces[namespace][key] = ss.copied()
	}
	done := stepped{content: content}
	for i := range steps {
		popped, err := s.stepLocked(namespace, &steps[i])
		if err != nil {
			s.namespaces[namespace], s.changes = before, changes
			return nil, err
		}
		done.popped = append(done.popped, popped...)
	}
	s.stepped[stateKey{namespace, id}] = done
	return done.popped, nil
}

// stepLocked makes one step.
func (s *Server) stepLocked(namespace string, st *contract.Step) (popped []contract.Message, err error) {
	if err := checkTurn(st.Session, st.Turn); err != nil {
		return nil, err
	}
	ss := s.sessionLocked(namespace, st.Session, st.Do == contract.StepSave || st.Do == contract.StepKeep)
	if ss == nil {
		if st.Do == contract.StepPop || st.Do == contract.StepRemove || st.Do == contract.StepDelete {
			return nil, nil
		}
		return nil, contract.ErrConflict
	}
	named := func(id string) int {
		return slices.IndexFunc(ss.messages, func(m contract.Message) bool { return m.ID == id })
	}
	switch st.Do {
	case contract.StepSave:
		return nil, s.saveNewLocked(ss, st.Turn)
	case contract.StepPop:
		n := max(0, len(ss.messages)-st.N)
		popped, ss.messages = slices.Clone(ss.messages[n:]), ss.messages[:n:n]
		slices.Reverse(popped)
	case contract.StepEdit:
		at := named(st.Turn[0].ID)
		if at < 0 {
			return nil, contract.ErrConflict
		}
		ss.messages[at] = clone(st.Turn)[0]
	case contract.StepRemove:
		if at := named(st.ID); at >= 0 {
			ss.messages = slices.Delete(ss.messages, at, at+1)
		}
	case contract.StepReplace:
		ss.messages = slices.DeleteFunc(ss.messages,
			func(m contract.Message) bool { return ss.numbers[m.ID] >= st.N })
		return nil, s.saveNewLocked(ss, st.Turn)
	case contract.StepKeep:
		ss.length = st.N
		ss.keep(st.N)
	case contract.StepRename:
		if s.sessionLocked(namespace, st.To, false) != nil {
			return nil, contract.ErrConflict
		}
		s.namespaces[namespace][st.To] = ss
		delete(s.namespaces[namespace], st.Session)
	case contract.StepDelete:
		delete(s.namespaces[namespace], st.Session)
	}
	s.changedLocked(ss)
	return popped, nil
}

// saveNewLocked saves messages none of which was saved before.
func (s *Server) saveNewLocked(ss *session, turn []contract.Message) error {
	known, err := ss.knows(turn)
	if known {
		err = contract.ErrConflict
	}
	if err == nil {
		s.saveLocked(ss, turn)
	}
	return err
}

// TransactSteps implements contract.Stepper.
func (h *Handle) TransactSteps(
	ctx context.Context, id string, conditions []contract.Condition, steps ...contract.Step,
) (popped []contract.Message, err error) {
	if lost := h.call(ctx, func() {
		popped, err = h.server.transactSteps(h.namespace, id, conditions, steps)
	}); lost != nil {
		return nil, lost
	}
	return clone(popped), err
}
