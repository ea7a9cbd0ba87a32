package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Editor changes single messages, by the ids that they were saved with.
type Editor interface {
	// Edit replaces the content of a message. If the session holds no such message, it returns
	// ErrConflict.
	Edit(ctx context.Context, session, id string, m Message) error
	// Remove removes a message. It is no error if there is no such message.
	Remove(ctx context.Context, session, id string) error
}

var editingCases = []Case{
	{Name: "edit", Incident: I2, Needs: []Capability{CanEdit, HasIDs}, run: probing(editMessages),
		Proves: "A message that is edited has its new content in its old place, through every handle, and no other " +
			"changes."},
	{Name: "remove", Incident: I2, Needs: []Capability{CanEdit, HasIDs}, run: probing(removeMessages),
		Proves: "A message that is removed is gone, and the others stay in their order."},
}

var editingRetries = []Case{
	{Name: "retry-after-edit", Incident: I3, Needs: []Capability{CanEdit, HasIDs, HasLateIDs},
		run:    probing(retryAfterEdit),
		Proves: "A turn that is sent again neither undoes an edit nor brings a removed message back."},
}

// editProbe edits and removes single messages.
type editProbe struct{ *probe }

func (p editProbe) edit(s Store, session string, m Message) error {
	ctx, cancel := p.op()
	defer cancel()
	return s.(Editor).Edit(ctx, session, m.ID, m)
}

func (p editProbe) removeMessage(s Store, session, id string) error {
	ctx, cancel := p.op()
	defer cancel()
	return s.(Editor).Remove(ctx, session, id)
}

// edited returns a message with other content.
func edited(m Message, how string) Message {
	m.Content += " (" + how + ")"
	return m
}

func editMessages(p editProbe) error {
	s := p.session("a")
	all, err := p.filled(s, 8)
	if err != nil {
		return err
	}
	other, err := p.open()
	if err != nil {
		return err
	}
	for round, at := range []int{0, 7, 3, 3} {
		all[at] = edited(all[at], fmt.Sprint("edit ", round+1))
		if err := p.edit(p.store, s, all[at]); err != nil {
			return fmt.Errorf("edit message %d: %w", at+1, err)
		}
		if err := errors.Join(p.exactly(other, s, all), p.exactly(p.store, s, all)); err != nil {
			return fmt.Errorf("after the edit of message %d: %w", at+1, err)
		}
	}
	unknown := p.turn(s, 2, 1, 1)[0]
	if err := p.edit(p.store, s, unknown); !errors.Is(err, ErrConflict) {
		return fmt.Errorf("the edit of a message that was never saved: %v instead of a conflict", err)
	}
	return p.exactly(other, s, all)
}

func removeMessages(p editProbe) error {
	s := p.session("a")
	all, err := p.filled(s, 6)
	if err != nil {
		return err
	}
	for len(all) > 1 {
		at := p.random.IntN(len(all))
		id := all[at].ID
		all = slices.Delete(all, at, at+1)
		for range 2 { // the second time there is nothing to remove
			if err := p.removeMessage(p.store, s, id); err != nil {
				return err
			}
			if err := p.exactly(p.store, s, all); err != nil {
				return fmt.Errorf("after the removal of message %d of %d: %w", at+1, len(all)+1, err)
			}
		}
	}
	if err := p.add(p.store, s, 2, 1, 1); err != nil {
		return err
	}
	return p.exactly(p.store, s, append(all, p.turn(s, 2, 1, 1)...))
}

func retryAfterEdit(p editProbe) error {
	s := p.session("a")
	turn := p.turn(s, 1, 1, 3)
	if err := p.add(p.store, s, 1, 1, 3); err != nil {
		return err
	}
	kept := edited(turn[0], "edited")
	if err := errors.Join(p.edit(p.store, s, kept), p.removeMessage(p.store, s, turn[1].ID)); err != nil {
		return err
	}
	want := []Message{kept, turn[2]}
	for range 2 {
		ctx, cancel := p.op()
		defer cancel()
		if err := p.store.Add(ctx, s, turn...); err != nil {
			return fmt.Errorf("the turn, sent again: %w", err)
		}
		if err := p.exactly(p.store, s, want); err != nil {
			return fmt.Errorf("after the turn was sent again: %w", err)
		}
	}
	return nil
}
