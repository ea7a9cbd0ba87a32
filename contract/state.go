package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Stater keeps state beside conversations: fields under a key that is not a session's.
type Stater interface {
	// SetState sets fields, and keeps the others.
	SetState(ctx context.Context, key string, fields map[string]string) error
	// State returns all fields, or none if there is no such key.
	State(ctx context.Context, key string) (map[string]string, error)
}

var stateCases = []Case{
	{Name: "state", Incident: I4, Needs: []Capability{CanState}, run: probing(stateMerged),
		Proves: "Fields of a state that were set come back, through every handle, and leave the others as they were."},
	{Name: "large-state", Incident: I3, Needs: []Capability{CanState}, run: probing(largeState),
		Proves: "A field of a state of a hundred thousand bytes comes back whole."},
}

func (p transactionProbe) setState(s Store, key string, fields map[string]string) error {
	ctx, cancel := p.op()
	defer cancel()
	return s.(Stater).SetState(ctx, key, fields)
}

// stateIs looks that a state has these fields and no others.
func (p transactionProbe) stateIs(s Store, key string, want map[string]string) error {
	ctx, cancel := p.op()
	defer cancel()
	got, err := s.(Stater).State(ctx, key)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return sameFields("the state", got, want)
}

func sameFields(what string, got, want map[string]string) error {
	for name, value := range want {
		is, ok := got[name]
		switch {
		case !ok:
			return fmt.Errorf("%s has no field %q", what, name)
		case is != value:
			return fmt.Errorf("field %q of %s came back as %.40q, of %d bytes, and was set to %.40q, of %d bytes",
				name, what, is, len(is), value, len(value))
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d fields instead of %d", what, len(got), len(want))
	}
	return nil
}

func stateMerged(p transactionProbe) error {
	a, b := p.session("a"), p.session("b")
	other, err := p.open()
	if err != nil {
		return err
	}
	want := map[string]string{}
	err = errors.Join(p.stateIs(p.store, a, want), p.setState(p.store, b, map[string]string{"plan": "b"}))
	if err != nil {
		return err
	}
	for _, fields := range []map[string]string{{"plan": "gold", "name": "Ada"}, {"plan": "red"}, {"": "no name"},
		{"empty": ""}, {"שם": "bytes \x00\n\"'"}, {"name": "Ada"}} {
		if err := p.setState(p.store, a, fields); err != nil {
			return err
		}
		maps.Copy(want, fields)
		if err := errors.Join(p.stateIs(other, a, want), p.stateIs(p.store, a, want)); err != nil {
			return err
		}
	}
	return p.stateIs(p.store, b, map[string]string{"plan": "b"})
}

func largeState(p transactionProbe) error {
	key := p.session("a")
	want := map[string]string{"small": "1", "large": strings.Repeat("0123456789", 10_000)}
	if err := p.setState(p.store, key, want); err != nil {
		return err
	}
	return p.stateIs(p.store, key, want)
}
