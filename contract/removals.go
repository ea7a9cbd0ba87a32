package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

func clearWhileSaving(p *probe) error {
	s := p.session("a")
	clearer, err := p.open()
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	var clearErr error
	group.Go(func() {
		for range 5 {
			ctx, cancel := p.op()
			clearErr = errors.Join(clearErr, clearer.Clear(ctx, s))
			cancel()
		}
	})
	err = p.work(p.ctx, nil, p.crew(s, p.Turns, 3))
	group.Wait()
	if err := errors.Join(err, clearErr); err != nil {
		return err
	}
	ms, err := p.load(p.store, s)
	if err != nil {
		return err
	}
	if err := p.check(s, ms, audit{removed: true, whole: true}); err != nil {
		return err
	}
	if err := wholeTurns(ms); err != nil {
		return err
	}
	ctx, cancel := p.op()
	defer cancel()
	if err := p.store.Clear(ctx, s); err != nil {
		return err
	}
	p.history = history{}
	after := p.crew(s, p.Turns, 3)
	for i := range after {
		after[i].Writer += 100
	}
	if err := p.work(p.ctx, nil, after); err != nil {
		return err
	}
	return p.verifyWhole(p.store, s)
}

// wholeTurns reports a turn of which a part is missing.
func wholeTurns(ms []Message) error {
	count := map[turnKey]int{}
	for _, m := range ms {
		if l, ok := parseLabel(m.Content); ok {
			count[l.turnKey]++
		}
	}
	for _, m := range ms {
		if l, ok := parseLabel(m.Content); ok && count[l.turnKey] != l.parts {
			return fmt.Errorf("lost: of %s, %d of %d messages are there", l.turnKey, count[l.turnKey], l.parts)
		}
	}
	return nil
}

func trimWhileSaving(p *probe) error {
	s := p.session("a")
	trimmer, err := p.open()
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	var trimErr error
	group.Go(func() {
		for range p.Turns {
			ctx, cancel := p.op()
			trimErr = errors.Join(trimErr, trimmer.(Trimmer).Trim(ctx, s, 10_000))
			cancel()
		}
	})
	err = p.work(p.ctx, nil, p.crew(s, p.Turns, 2))
	group.Wait()
	if err := errors.Join(err, trimErr); err != nil {
		return err
	}
	return p.verify(p.store, s)
}

func popOnce(p *probe) error {
	s := p.session("a")
	n := 5 * p.Writers
	all, err := p.filled(s, n)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	got := map[string]int{}
	err = together(p.Writers, func(int) error {
		for range n / p.Writers {
			ctx, cancel := p.op()
			m, ok, err := p.store.(Popper).Pop(ctx, s)
			cancel()
			if err != nil || !ok {
				return fmt.Errorf("pop: %v, %w", ok, err)
			}
			mu.Lock()
			got[m.Content]++
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, m := range all {
		switch got[m.Content] {
		case 1:
		case 0:
			return fmt.Errorf("lost: no call returned %s", m)
		default:
			return fmt.Errorf("doubled: %d workers popped %s", got[m.Content], m)
		}
	}
	return p.exactly(p.store, s, nil)
}

func clearedStays(p restartProbe) error {
	return p.staysRemoved(0, func(ctx context.Context, session string) error { return p.store.Clear(ctx, session) })
}

func deletedStays(p restartProbe) error {
	return p.staysRemoved(0,
		func(ctx context.Context, session string) error { return p.store.(Deleter).Delete(ctx, session) })
}

func trimmedStays(p restartProbe) error {
	return p.staysRemoved(4,
		func(ctx context.Context, session string) error { return p.store.(Trimmer).Trim(ctx, session, 4) })
}

// poppedStays pops three of ten messages.
func poppedStays(p restartProbe) error {
	return p.staysRemoved(-7, func(ctx context.Context, session string) error {
		for range 3 {
			if _, ok, err := p.store.(Popper).Pop(ctx, session); err != nil || !ok {
				return fmt.Errorf("pop: %v, %w", ok, err)
			}
		}
		return nil
	})
}

// staysRemoved removes something from a session of ten messages, restarts, and looks
// for what is left: the newest ones, or if left is negative, the oldest. A second
// session is not touched: a store that forgets everything has not shown that it
// remembers the removal.
func (p restartProbe) staysRemoved(left int, remove func(ctx context.Context, session string) error) error {
	s, kept := p.session("removed"), p.session("kept")
	all, err := p.filled(s, 10)
	if err != nil {
		return err
	}
	if err := p.fill(p.store, kept, 5); err != nil {
		return err
	}
	ctx, cancel := p.op()
	defer cancel()
	if err := remove(ctx, s); err != nil {
		return err
	}
	if err := p.anyRestart(); err != nil {
		return err
	}
	h, err := p.reopened()
	if err != nil {
		return err
	}
	ms, err := p.load(h, kept)
	if err == nil && len(ms) == 0 {
		return lacksError("anything that survives a restart")
	}
	want := all[len(all)-max(left, 0):]
	if left < 0 {
		want = all[:-left]
	}
	return errors.Join(err, p.exactly(h, s, want))
}
