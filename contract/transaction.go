package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Change is what a transaction does under one key.
type Change struct {
	Session string
	// Version, if set, is that of the state in which the session has to be before the transaction.
	Version string
	Turn    []Message         // is saved at the end of the session
	Fields  map[string]string // are set in the state under that key: a change has these or a turn
}

// Transactor changes several sessions and states at once.
type Transactor interface {
	// Transact makes all changes or none. It returns ErrConflict, and changes nothing, if a session is
	// in another state than that of its Version, or if the id was used before for other changes. With the
	// same changes, an id that was used before changes nothing and succeeds.
	Transact(ctx context.Context, id string, changes ...Change) error
}

var transactionCases = []Case{
	{Name: "transaction", Incident: I1, Needs: []Capability{CanTransact, CanState, CanCondition},
		run:    probing(transaction),
		Proves: "A transaction over sessions and a state is there whole, through every handle."},
	{Name: "transaction-refused", Incident: I5, Needs: []Capability{CanTransact, CanState, CanCondition},
		run:    probing(transactionRefused),
		Proves: "If one condition of a transaction does not hold, none of its changes is made."},
	{Name: "transaction-retried", Incident: I3, Needs: []Capability{CanTransact}, run: probing(transactionRetried),
		Proves: "A transaction that is sent again under its id takes place once; another under that id is refused."},
	{Name: "transactions-at-once", Incident: I1, Needs: []Capability{CanTransact}, run: probing(transactionsAtOnce),
		Proves: "Transactions over the same sessions come after one another: every session has them in one order."},
}

// transactionProbe changes several sessions, or their states, at once.
type transactionProbe struct{ *probe }

// transact carries a transaction out; its id is one of this case.
func (p transactionProbe) transact(s Store, id string, changes ...Change) error {
	ctx, cancel := p.op()
	defer cancel()
	return s.(Transactor).Transact(ctx, p.script(id).token+"-"+id, changes...)
}

func transaction(p transactionProbe) error {
	a, b, state := p.session("a"), p.session("b"), p.session("state")
	other, err := p.open()
	if err != nil {
		return err
	}
	var inA, inB []Message
	for i := range 3 {
		_, version, err := conflictProbe(p).version(p.store, b)
		if err != nil {
			return err
		}
		toA, toB, fields := p.turn(a, 1, i+1, 2), p.turn(b, 1, i+1, 3), map[string]string{"turn": strconv.Itoa(i)}
		err = p.transact(p.store, fmt.Sprint("t", i), Change{Session: a, Turn: toA},
			Change{Session: state, Fields: fields}, Change{Session: b, Version: version, Turn: toB})
		if err != nil {
			return fmt.Errorf("transaction %d: %w", i+1, err)
		}
		inA, inB = append(inA, toA...), append(inB, toB...)
		for _, s := range []Store{other, p.store} {
			if err := errors.Join(p.exactly(s, a, inA), p.exactly(s, b, inB), p.stateIs(s, state, fields)); err != nil {
				return fmt.Errorf("after transaction %d: %w", i+1, err)
			}
		}
	}
	return nil
}

func transactionRefused(p transactionProbe) error {
	a, b, state := p.session("a"), p.session("b"), p.session("state")
	before := map[string]string{"turn": "none"}
	if err := errors.Join(p.fill(p.store, b, 1), p.setState(p.store, state, before)); err != nil {
		return err
	}
	_, old, err := conflictProbe(p).version(p.store, b)
	if err != nil {
		return err
	}
	if err := p.fill(p.store, b, 1); err != nil {
		return err
	}
	for i, last := range []int{2, 0, 1} { // the one under the condition comes last, first, in between
		changes := []Change{{Session: a, Turn: p.turn(a, 2, i+1, 2)},
			{Session: state, Fields: map[string]string{"turn": "refused", "new": "1"}}}
		changes = slices.Insert(changes, last, Change{Session: b, Version: old, Turn: p.turn(b, 2, i+1, 1)})
		if err := p.transact(p.store, fmt.Sprint("t", i), changes...); !errors.Is(err, ErrConflict) {
			return fmt.Errorf("a transaction upon a state that has changed: %v instead of a conflict", err)
		}
		err := errors.Join(p.exactly(p.store, a, nil), p.verifyWhole(p.store, b),
			p.stateIs(p.store, state, before))
		if err != nil {
			return fmt.Errorf("after a transaction that was refused: %w", err)
		}
	}
	return nil
}

// withoutIDs returns messages that nothing but their transaction can be known by.
func withoutIDs(ms []Message) []Message {
	for i := range ms {
		ms[i].ID = ""
	}
	return ms
}

func transactionRetried(p transactionProbe) error {
	a, b := p.session("a"), p.session("b")
	other, err := p.open()
	if err != nil {
		return err
	}
	toA, toB := withoutIDs(p.turn(a, 1, 1, 2)), withoutIDs(p.turn(b, 1, 1, 2))
	changes := []Change{{Session: a, Turn: toA}, {Session: b, Turn: toB}}
	for i, s := range []Store{p.store, p.store, other} {
		if err := p.transact(s, "t", changes...); err != nil {
			return fmt.Errorf("sent for the %d. time: %w", i+1, err)
		}
		if err := errors.Join(p.exactly(p.store, a, toA), p.exactly(p.store, b, toB)); err != nil {
			return fmt.Errorf("sent for the %d. time: %w", i+1, err)
		}
	}
	changes[1].Turn = withoutIDs(p.turn(b, 1, 2, 2))
	if err := p.transact(other, "t", changes...); !errors.Is(err, ErrConflict) {
		return fmt.Errorf("another transaction under the same id: %v instead of a conflict", err)
	}
	return errors.Join(p.exactly(p.store, a, toA), p.exactly(p.store, b, toB))
}

func transactionsAtOnce(p transactionProbe) error {
	sessions := []string{p.session("a"), p.session("b"), p.session("c")}
	err := together(p.Writers, func(w int) error {
		h, err := p.open()
		for i := 0; i < p.Turns && err == nil; i++ {
			var changes []Change
			for _, s := range sessions {
				changes = append(changes, Change{Session: s, Turn: p.turn(s, w+1, i+1, 1)})
			}
			err = p.transact(h, fmt.Sprintf("t%d-%d", w, i), changes...)
		}
		return err
	})
	if err != nil {
		return err
	}
	var first []turnKey
	for _, s := range sessions {
		order, err := p.order(s)
		switch {
		case err != nil:
			return err
		case len(order) != p.Writers*p.Turns:
			return fmt.Errorf("%s has %d turns of %d", s, len(order), p.Writers*p.Turns)
		case first == nil:
			first = order
		case !slices.Equal(first, order):
			return fmt.Errorf("the order of the transactions in %s differs from that in %s", s, sessions[0])
		}
	}
	return nil
}

// order returns the turns of a session in their order there.
func (p transactionProbe) order(session string) (order []turnKey, err error) {
	ms, err := p.load(p.store, session)
	for _, m := range ms {
		l, ok := parseLabel(m.Content)
		if !ok {
			return nil, fmt.Errorf("%s was never saved", m)
		}
		order = append(order, l.turnKey)
	}
	return order, err
}
