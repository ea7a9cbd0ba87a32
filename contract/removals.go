package contract

import (
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
			return fmt.Errorf("lost: nobody popped %s", m)
		default:
			return fmt.Errorf("doubled: %d workers popped %s", got[m.Content], m)
		}
	}
	return p.exactly(p.store, s, nil)
}
