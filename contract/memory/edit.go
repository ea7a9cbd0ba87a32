package memory

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/contract"
)

// change lets fn change the message with that id, whose place it gets. It reports whether there is one.
func (s *Server) change(namespace, key, id string, fn func(ss *session, at int)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessionLocked(namespace, key, false)
	if ss == nil {
		return false
	}
	at := slices.IndexFunc(ss.messages, func(m contract.Message) bool { return m.ID == id })
	if at < 0 {
		return false
	}
	fn(ss, at)
	s.changedLocked(ss)
	return true
}

func (h *Handle) Edit(ctx context.Context, key, id string, m contract.Message) error {
	var err error
	lost := h.call(ctx, func() {
		m.ID = id
		if err = checkTurn(key, []contract.Message{m}); err != nil {
			return
		}
		copied := clone([]contract.Message{m})
		found := h.server.change(h.namespace, key, id, func(ss *session, at int) { ss.messages[at] = copied[0] })
		if !found {
			err = contract.ErrConflict
		}
	})
	if lost != nil {
		return lost
	}
	return err
}

func (h *Handle) Remove(ctx context.Context, key, id string) error {
	return h.call(ctx, func() {
		h.server.change(h.namespace, key, id,
			func(ss *session, at int) { ss.messages = slices.Delete(ss.messages, at, at+1) })
	})
}
