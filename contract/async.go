package contract

import (
	"context"
	"errors"
	"fmt"
)

// viaAsync is a handle whose loads and clears are begun asynchronously and waited for.
type viaAsync struct{ Store }

func (s viaAsync) Load(ctx context.Context, session string) ([]Message, error) {
	l := <-s.Store.(AsyncLoader).LoadAsync(ctx, session)
	return l.Messages, l.Err
}

func (s viaAsync) Clear(ctx context.Context, session string) error {
	return <-s.Store.(AsyncClearer).ClearAsync(ctx, session)
}

func asyncHandle(s Store) Store { return viaAsync{s} }
func syncHandle(s Store) Store  { return s }

func asyncSave(p *probe) error {
	s := p.session("a")
	other, err := p.open()
	if err != nil {
		return err
	}
	for i := range p.Turns {
		ms := p.turn(s, 1, i+1, 2)
		err := p.noted(s, turnKey{1, i + 1}, 2, func() error {
			ctx, cancel := p.op()
			defer cancel()
			return <-p.store.(AsyncAdder).AddAsync(ctx, s, ms...)
		})
		if err != nil {
			return err
		}
		if err := p.verify(other, s); err != nil {
			return err
		}
	}
	return nil
}

// asyncLoad has another handle save, so that what this one remembers does not help.
func asyncLoad(p *probe) error {
	s := p.session("a")
	other, err := p.open()
	if err != nil {
		return err
	}
	if err := p.exactly(viaAsync{p.store}, s, nil); err != nil {
		return fmt.Errorf("a session that was never written: %w", err)
	}
	for range p.Turns {
		if err := p.fill(other, s, 1); err != nil {
			return err
		}
		if err := p.verifyWhole(viaAsync{p.store}, s); err != nil {
			return fmt.Errorf("loaded asynchronously right after the save returned: %w", err)
		}
	}
	return nil
}

func asyncClear(p *probe) error {
	s, kept := p.session("a"), p.session("b")
	other, err := p.open()
	if err != nil {
		return err
	}
	if err := p.fill(p.store, kept, 3); err != nil {
		return err
	}
	for round := range 5 {
		ctx, cancel := p.op()
		defer cancel()
		if err := p.store.Add(ctx, s, p.turn(s, 1, round+1, 4)...); err != nil {
			return err
		}
		if err := (viaAsync{p.store}).Clear(ctx, s); err != nil {
			return err
		}
		if err := errors.Join(p.exactly(other, s, nil), p.exactly(p.store, s, nil)); err != nil {
			return fmt.Errorf("after an asynchronous clear that reported success: %w", err)
		}
	}
	return p.verifyWhole(other, kept)
}

// sameInstantAsync begins the loads of all sessions before it waits for any.
func sameInstantAsync(p *probe) error {
	sessions := make([]string, p.Writers)
	for i := range sessions {
		sessions[i] = p.session(fmt.Sprint(i))
		if err := p.fill(p.store, sessions[i], 1+p.random.IntN(4)); err != nil {
			return err
		}
	}
	for range p.Turns {
		ctx, cancel := p.op()
		defer cancel()
		begun := make([]<-chan Loaded, len(sessions))
		for i, s := range sessions {
			begun[i] = p.store.(AsyncLoader).LoadAsync(ctx, s)
		}
		for i, s := range sessions {
			l := <-begun[i]
			if l.Err != nil {
				return l.Err
			}
			if err := p.check(s, l.Messages, audit{}); err != nil {
				return fmt.Errorf("loads that were begun at once: %w", err)
			}
		}
	}
	return nil
}
