package contract

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/turnlog/turnlog/contract/internal/clock"
)

// assignment is what one writer does, in a goroutine of the suite or in a process
// of its own.
type assignment struct {
	Session string `json:"session"`
	Token   string `json:"token"`
	Seed    uint64 `json:"seed"`
	Writer  int    `json:"writer"`
	Turns   int    `json:"turns"`
	Parts   int    `json:"parts"` // messages of a turn
	// Reads: load the session after each turn.
	Reads bool `json:"reads,omitempty"`
	// Condition: add each turn upon the state that was read before, until it is
	// accepted.
	Condition bool `json:"condition,omitempty"`
	// Stubborn: when a call fails, open a new handle and go on. With Again, the
	// turn is sent once more under its ids, until it is acknowledged.
	Stubborn bool `json:"stubborn,omitempty"`
	Again    bool `json:"again,omitempty"`
}

// writer carries out an assignment.
type writer struct {
	assignment
	open func(context.Context) (Store, error)
	emit func(event)

	store Store
	own   bool // store was opened by the writer itself
}

func (w *writer) script() script { return script{token: w.Token, seed: w.Seed} }

// run returns the first error of a call, or if stubborn, only that of ctx.
func (w *writer) run(ctx context.Context) error {
	defer w.drop()
	for t := 1; t <= w.Turns; t++ {
		for {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := w.turn(ctx, turnKey{w.Writer, t})
			if err == nil {
				break
			}
			if !w.Stubborn {
				return err
			}
			w.drop()
			if !w.Again && outcomeOf(err) == unknown {
				break // whether it was saved is the store's secret
			}
			pause(ctx, 20*time.Millisecond)
		}
		if !w.Reads {
			continue
		}
		if err := w.load(ctx); err != nil && !w.Stubborn {
			return err
		}
	}
	return nil
}

// drop closes a handle that may be broken.
func (w *writer) drop() {
	if w.own && w.store != nil {
		w.store.Close()
		w.store = nil
	}
}

// handle makes sure that there is one.
func (w *writer) handle(ctx context.Context) error {
	if w.store != nil {
		return nil
	}
	s, err := w.open(ctx)
	if err != nil {
		return fmt.Errorf("%w: no handle: %w", ErrNotApplied, err)
	}
	w.store, w.own = s, true
	return nil
}

func (w *writer) turn(ctx context.Context, k turnKey) error {
	if w.Condition {
		return w.conditional(ctx, k)
	}
	if err := w.handle(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, defaultOp)
	defer cancel()
	return w.attempt(event{Op: opAdd, Key: k}, func(ms []Message) error { return w.store.Add(ctx, w.Session, ms...) })
}

// attempt calls f and reports it.
func (w *writer) attempt(e event, f func([]Message) error) error {
	e.Session, e.Parts = w.Session, w.Parts
	ms := w.script().turn(e.Key, w.Parts)
	e.Start = clock.Now()
	err := f(ms)
	e.finish(err)
	w.emit(e)
	if err != nil {
		return fmt.Errorf("add of %s: %w", e.Key, err)
	}
	return nil
}

// conditional reads and adds until no other write came in between.
func (w *writer) conditional(ctx context.Context, k turnKey) error {
	for {
		if err := w.upon(ctx, k); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// upon reads, and adds upon what it has read.
func (w *writer) upon(ctx context.Context, k turnKey) error {
	if err := w.handle(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, defaultOp)
	defer cancel()
	store := w.store.(Conditional)
	l := event{Op: opLoad, Session: w.Session, Key: turnKey{Writer: w.Writer}, Start: clock.Now()}
	ms, version, err := store.LoadVersion(ctx, w.Session)
	l.Seen = turnsOf(ms)
	l.finish(err)
	w.emit(l)
	if err != nil {
		return fmt.Errorf("%w: load: %w", ErrNotApplied, err)
	}
	return w.attempt(event{Op: opAddIf, Key: k, Seen: l.Seen}, func(ms []Message) error {
		return store.AddIf(ctx, w.Session, version, ms...)
	})
}

func (w *writer) load(ctx context.Context) error {
	if err := w.handle(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, defaultOp)
	defer cancel()
	e := event{Op: opLoad, Session: w.Session, Key: turnKey{Writer: w.Writer}, Start: clock.Now()}
	ms, err := w.store.Load(ctx, w.Session)
	e.Seen = turnsOf(ms)
	e.finish(err)
	w.emit(e)
	if err != nil {
		w.drop()
	}
	return err
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// crew returns one assignment for each writer.
func (p *probe) crew(session string, turns, parts int) []assignment {
	return p.crewOf(p.Writers, session, turns, parts)
}

func (p *probe) crewOf(n int, session string, turns, parts int) []assignment {
	as := make([]assignment, n)
	sc := p.script(session)
	for i := range as {
		as[i] = assignment{Session: session, Token: sc.token, Seed: sc.seed, Writer: i + 1, Turns: turns, Parts: parts}
	}
	return as
}

// work has every assignment carried out by a goroutine, all at once: through the
// given handle, or if it is nil, each through its own.
func (p *probe) work(ctx context.Context, shared Store, as []assignment) error {
	writers := make([]*writer, len(as))
	for i, a := range as {
		w := &writer{assignment: a, store: shared, open: p.opened, emit: p.history.record}
		if err := w.handle(ctx); err != nil {
			return err
		}
		writers[i] = w
	}
	return together(len(as), func(i int) error { return writers[i].run(ctx) })
}
