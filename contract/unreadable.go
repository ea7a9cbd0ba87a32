package contract

import (
	"context"
	"errors"
	"fmt"
)

// unreadableRow is incident I3: what a class of another version has written was read
// as no history at all, and without an error.
func unreadableRow(p faultProbe) error {
	s, other := p.session("a"), p.session("b")
	if err := errors.Join(p.fill(p.store, s, 3), p.fill(p.store, other, 2)); err != nil {
		return err
	}
	ctx, cancel := p.op()
	defer cancel()
	if err := p.store.(Corrupter).Corrupt(ctx, s); err != nil {
		return fmt.Errorf("corrupt: %w", err)
	}
	fresh, err := p.open()
	if err != nil {
		return err
	}
	for _, h := range []Store{p.store, fresh} {
		if err := p.noticed(h, s); err != nil {
			return err
		}
	}
	// A store that reads and writes back must not put its mistake into effect.
	saveErr := p.add(fresh, s, 1, 4, 2)
	if outcomeOf(saveErr) != unknown {
		if err := p.noticed(p.store, s); err != nil {
			return fmt.Errorf("after another save (error %v): %w", saveErr, err)
		}
	}
	return p.verifyWhole(p.store, other)
}

// noticed loads a session of which one message cannot be read. That is an error,
// unless the store keeps any bytes: then it shows these, and all other messages.
func (p faultProbe) noticed(h Store, session string) error {
	ctx, cancel := context.WithTimeout(p.ctx, defaultOp)
	defer cancel()
	ms, err := h.Load(ctx, session)
	if err != nil {
		return backendError(err)
	}
	var want []Message
	for _, e := range p.history.of(session) {
		if e.Outcome == saved {
			want = append(want, p.turn(session, e.Key.Writer, e.Key.Turn, e.Parts)...)
		}
	}
	changed := 0
	for i := range min(len(ms), len(want)) {
		if !ms[i].Equal(want[i]) {
			changed++
		}
	}
	if p.Target.Claims.Bytes && len(ms) == len(want) && changed <= 1 {
		return nil
	}
	return fmt.Errorf("lost: one message of %d cannot be read; the load returned %d messages and no error",
		len(want), len(ms))
}
