package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Retainer has a session keep a length by itself.
type Retainer interface {
	// Retain has the session keep its newest messages, keep of them, from here on: each save drops what is older.
	// A session that does not exist is created.
	Retain(ctx context.Context, session string, keep int) error
}

var retentionCases = []Case{
	{Name: "keeps-its-length", Incident: I4, Needs: []Capability{CanRetain}, run: probing(keepsItsLength),
		Proves: "A session with a limit of messages holds exactly its newest messages after every save, through " +
			"every handle, also after it was emptied."},
}

var retentionRetries = []Case{
	{Name: "dropped-stays-dropped", Incident: I3, Needs: []Capability{CanRetain, HasIDs, HasLateIDs},
		run:    probing(droppedStaysDropped),
		Proves: "Retrying a turn that the limit has dropped does not bring it back."},
}

var retentionRaces = []Case{
	{Name: "length-at-once", Incident: I1, Needs: []Capability{CanRetain}, run: probing(lengthAtOnce),
		Proves: "While writers save at the same time, no load shows more messages than the limit, and the session " +
			"holds as many when they are done."},
}

// retentionProbe has sessions keep a length by themselves.
type retentionProbe struct{ *probe }

func (p retentionProbe) retain(s Store, session string, keep int) error {
	ctx, cancel := p.op()
	defer cancel()
	return s.(Retainer).Retain(ctx, session, keep)
}

// both looks that a session has these messages, through two handles.
func (p retentionProbe) both(other Store, session string, want []Message) error {
	return errors.Join(p.exactly(p.store, session, want), p.exactly(other, session, want))
}

// grows adds n turns of a message as a writer to a session that is to keep so many, and has those in held. It
// returns what it has then.
func (p retentionProbe) grows(other Store, session string, writer, n, keep int, held []Message) ([]Message, error) {
	for turn := 1; turn <= n; turn++ {
		if err := p.add(other, session, writer, turn, 1); err != nil {
			return nil, err
		}
		held = append(held, p.turn(session, writer, turn, 1)...)
		held = held[max(0, len(held)-keep):]
		if err := p.both(other, session, held); err != nil {
			return nil, fmt.Errorf("turn %d of a session that is to keep %d messages: %w", turn, keep, err)
		}
	}
	return held, nil
}

func keepsItsLength(p retentionProbe) error {
	s := p.session("a")
	other, err := p.open()
	if err != nil {
		return err
	}
	held, err := p.filled(s, 7)
	if err != nil {
		return err
	}
	for i, keep := range []int{5, 2, 4} {
		if err := p.retain(p.store, s, keep); err != nil {
			return err
		}
		held = held[max(0, len(held)-keep):]
		if err := p.both(other, s, held); err != nil {
			return fmt.Errorf("told to keep %d messages: %w", keep, err)
		}
		if held, err = p.grows(other, s, 2+i, keep+2, keep, held); err != nil {
			return err
		}
	}
	ctx, cancel := p.op()
	defer cancel()
	if err := p.store.Clear(ctx, s); err != nil {
		return err
	}
	if _, err := p.grows(other, s, 9, 6, 4, nil); err != nil {
		return fmt.Errorf("after it was emptied: %w", err)
	}
	return nil
}

func droppedStaysDropped(p retentionProbe) error {
	s := p.session("a")
	if err := p.retain(p.store, s, 3); err != nil {
		return err
	}
	all, err := p.filled(s, 5)
	if err != nil {
		return err
	}
	if err := p.add(p.store, s, 1, 1, 1); err != nil {
		return fmt.Errorf("the retry of the first turn: %w", err)
	}
	return p.exactly(p.store, s, all[2:])
}

func lengthAtOnce(p retentionProbe) error {
	const keep = 10
	s := p.session("a")
	if err := p.retain(p.store, s, keep); err != nil {
		return err
	}
	reader, err := p.open()
	if err != nil {
		return err
	}
	done := make(chan struct{})
	var group sync.WaitGroup
	var readErr error
	group.Go(func() {
		for readErr == nil {
			select {
			case <-done:
				return
			default:
			}
			readErr = p.shows(reader, s, func(n int) bool { return n <= keep })
		}
	})
	err = p.work(p.ctx, nil, p.crew(s, p.Turns, 1))
	close(done)
	group.Wait()
	if err := errors.Join(err, readErr); err != nil {
		return err
	}
	ms, err := p.load(p.store, s)
	if err != nil {
		return err
	}
	return errors.Join(p.check(s, ms, audit{removed: true}),
		p.shows(p.store, s, func(n int) bool { return n == min(keep, p.Turns*p.Writers) }))
}

// shows looks how many messages a load has.
func (p retentionProbe) shows(s Store, session string, right func(n int) bool) error {
	ms, err := p.load(s, session)
	if err != nil {
		return err
	}
	if !right(len(ms)) {
		return fmt.Errorf("a load shows %d messages", len(ms))
	}
	return nil
}
