package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract/internal/clock"
	"github.com/turnlog/turnlog/contract/internal/openings"
)

// probe is what a case has at hand. Handles that it opens are closed, and sessions
// that it named are removed, after the case.
type probe struct {
	*run
	c       Case
	attempt int // from 0
	ctx     context.Context
	random  *rand.Rand // of the case's own goroutine
	history history
	store   Store // a handle that is open when the case begins

	openings openings.Openings // of handles

	mu       sync.Mutex
	handles  []Store
	lines    []Line
	sessions []string
	slowest  time.Duration // add so far that was acknowledged
}

func newProbe(r *run, c Case, attempt int) *probe {
	return &probe{run: r, c: c, attempt: attempt, random: rand.New(rand.NewPCG(c.Seed, ownSeed(c.ID())))}
}

// try opens the first handle, and runs the case if the store can be held to it.
func (p *probe) try() (err error) {
	if p.store, err = p.open(); err != nil {
		return err
	}
	defer p.cleanUp()
	for _, need := range p.c.Needs {
		if !p.Target.can(p.store, need) {
			return lacksError(need)
		}
	}
	return p.c.run(p)
}

// open returns a new handle, which is closed after the case.
func (p *probe) open() (Store, error) {
	s, err := p.opened(p.ctx)
	if err != nil {
		return nil, fmt.Errorf("opening a handle: %w", err)
	}
	p.keep(s)
	return s, nil
}

// opened returns a new handle, which the caller closes.
func (p *probe) opened(ctx context.Context) (s Store, err error) {
	err = p.openings.Measure(func() error {
		s, err = p.Target.Open(ctx)
		return err
	})
	return s, err
}

// openedOn returns a new handle that uses the line, which is closed after the case.
func (p *probe) openedOn(l Line) (s Store, err error) {
	err = p.openings.Measure(func() error {
		s, err = l.Open(p.ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening a handle: %w", err)
	}
	p.keep(s)
	return s, nil
}

func (p *probe) keep(s Store) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handles = append(p.handles, s)
}

func (p *probe) keepLine(l Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, l)
}

// session returns a key that is used nowhere else.
func (p *probe) session(name string) string {
	key := fmt.Sprintf("%s%d-%s-%s-%s", p.id, p.attempt, p.c.Gate, p.c.Name, name)
	p.use(key)
	return key
}

// use notes that a key is to be removed in the end.
func (p *probe) use(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions = append(p.sessions, key)
}

func (p *probe) script(session string) script { return newScript(p.c.Seed, p.id, session) }

// op returns a context for one operation in good weather.
func (p *probe) op() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.ctx, p.c.bound(defaultOp))
}

// turn returns the messages of a turn of a session.
func (p *probe) turn(session string, writer, turn, parts int) []Message {
	return p.script(session).turn(turnKey{writer, turn}, parts)
}

// add saves a numbered turn and takes note of it.
func (p *probe) add(s Store, session string, writer, turn, parts int) error {
	ctx, cancel := p.op()
	defer cancel()
	ms := p.turn(session, writer, turn, parts)
	return p.noted(session, turnKey{writer, turn}, parts, func() error { return s.Add(ctx, session, ms...) })
}

// noted takes note of an add that f carries out.
func (p *probe) noted(session string, k turnKey, parts int, f func() error) error {
	e := event{Op: opAdd, Session: session, Key: k, Parts: parts, Start: clock.Now()}
	err := f()
	e.finish(err)
	p.history.record(e)
	if err != nil {
		return fmt.Errorf("add of %s: %w", k, err)
	}
	p.mu.Lock()
	p.slowest = max(p.slowest, time.Duration(e.End-e.Start))
	p.mu.Unlock()
	return nil
}

// callTimeout is how long a call may take while something is broken: longer for a store
// that is slow anyway.
func (p *probe) callTimeout() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(brokenOp, 5*p.slowest), brokenMost)
}

func (e *event) finish(err error) {
	e.End, e.Outcome = clock.Now(), outcomeOf(err)
	if err != nil {
		e.Err = err.Error()
	}
}

// fill saves n turns of two messages as writer 1, numbered on from those before.
func (p *probe) fill(s Store, session string, n int) error {
	first := len(p.history.of(session))
	for i := range n {
		if err := p.add(s, session, 1, first+i+1, 2); err != nil {
			return err
		}
	}
	return nil
}

// load returns what a session holds.
func (p *probe) load(s Store, session string) ([]Message, error) {
	ctx, cancel := p.op()
	defer cancel()
	ms, err := s.Load(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return ms, nil
}

// verify loads a session through s and compares it with everything noted.
func (p *probe) verify(s Store, session string) error {
	return p.audit(s, session, audit{})
}

// verifyWhole also demands that the messages of each turn are together.
func (p *probe) verifyWhole(s Store, session string) error {
	return p.audit(s, session, audit{whole: true})
}

func (p *probe) audit(s Store, session string, a audit) error {
	ms, err := p.load(s, session)
	if err != nil {
		return err
	}
	return p.check(session, ms, a)
}

// check compares what was loaded from a session with everything noted.
func (p *probe) check(session string, loaded []Message, a audit) error {
	a.script, a.events = p.script(session), p.history.of(session)
	return a.check(loaded)
}

// exactly compares what a session holds with a list.
func (p *probe) exactly(s Store, session string, want []Message) error {
	got, err := p.load(s, session)
	if err != nil {
		return err
	}
	return compare(got, want)
}

// compare says where two lists part.
func compare(got, want []Message) error {
	for i := range min(len(got), len(want)) {
		if !got[i].Equal(want[i]) {
			return fmt.Errorf("message %d of %d came back as\n  %s\nand was saved as\n  %s", i+1, len(want),
				got[i], want[i])
		}
	}
	switch {
	case len(got) < len(want):
		return fmt.Errorf("%d of %d messages are there; the first one lost is %s", len(got), len(want), want[len(got)])
	case len(got) > len(want):
		return fmt.Errorf("%d messages are there instead of %d; the first one too many is %s", len(got), len(want),
			got[len(want)])
	}
	return nil
}

// together calls f(0) … f(n-1) in goroutines that all begin at the same moment,
// and returns their errors.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	group.Wait()
	return errors.Join(errs...)
}

// cleanUp removes what the case left, as well as the store lets it.
func (p *probe) cleanUp() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 5*time.Second)
	defer cancel()
	together(p.Writers, func(w int) error {
		for i := w; i < len(p.sessions) && ctx.Err() == nil; i += p.Writers {
			p.remove(ctx, p.sessions[i])
		}
		return nil
	})
	for _, s := range p.handles {
		s.Close()
	}
	for _, l := range p.lines {
		l.Close()
	}
}

// remove ignores errors: what remains disturbs nothing.
func (p *probe) remove(ctx context.Context, key string) {
	if d, ok := p.store.(Deleter); ok && p.Target.can(p.store, CanDelete) {
		d.Delete(ctx, key)
	} else {
		p.store.Clear(ctx, key)
	}
}

// leftNothing looks into a session whose only save was refused. A store may refuse to
// load what it refuses to save.
func (p *probe) leftNothing(session string) error {
	ms, err := p.load(p.store, session)
	if errors.Is(err, ErrRefused) {
		return nil
	}
	if err == nil {
		err = compare(ms, nil)
	}
	if err != nil {
		return fmt.Errorf("it was refused, and left something behind: %w", err)
	}
	return nil
}
