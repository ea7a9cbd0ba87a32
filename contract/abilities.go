package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// removalProbe removes messages.
type removalProbe struct{ *probe }

func clearSession(p removalProbe) error {
	return p.removal(func(ctx context.Context, s string) error { return p.store.Clear(ctx, s) })
}

func deleteSession(p removalProbe) error {
	return p.removal(func(ctx context.Context, s string) error { return p.store.(Deleter).Delete(ctx, s) })
}

// removal checks a way to empty a session.
func (p removalProbe) removal(remove func(ctx context.Context, session string) error) error {
	s := p.session("a")
	other, err := p.open()
	if err != nil {
		return err
	}
	for round := range 3 {
		turns := p.turn(s, 1+round, 1, 6)
		ctx, cancel := p.op()
		defer cancel()
		if err := p.store.Add(ctx, s, turns...); err != nil {
			return fmt.Errorf("add: %w", err)
		}
		if err := p.exactly(other, s, turns); err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		if err := remove(ctx, s); err != nil {
			return err
		}
		if err := errors.Join(p.exactly(other, s, nil), p.exactly(p.store, s, nil)); err != nil {
			return fmt.Errorf("after the removal: %w", err)
		}
	}
	return nil
}

func clearNothing(p *probe) error {
	s := p.session("never-written")
	ctx, cancel := p.op()
	defer cancel()
	if err := p.store.Clear(ctx, s); err != nil {
		return err
	}
	return p.exactly(p.store, s, nil)
}

// filled saves n single messages and returns them.
func (p *probe) filled(session string, n int) ([]Message, error) {
	var all []Message
	for i := range n {
		if err := p.add(p.store, session, 1, i+1, 1); err != nil {
			return nil, err
		}
		all = append(all, p.turn(session, 1, i+1, 1)...)
	}
	return all, nil
}

func trimSession(p *probe) error {
	s := p.session("a")
	all, err := p.filled(s, 20)
	if err != nil {
		return err
	}
	for keep := 17; keep > 0; keep -= 1 + p.random.IntN(5) {
		ctx, cancel := p.op()
		defer cancel()
		if err := p.store.(Trimmer).Trim(ctx, s, keep); err != nil {
			return err
		}
		if err := p.exactly(p.store, s, all[len(all)-keep:]); err != nil {
			return fmt.Errorf("trimmed to %d: %w", keep, err)
		}
		if err := p.add(p.store, s, 2, keep, 1); err != nil {
			return err
		}
		all = append(all, p.turn(s, 2, keep, 1)...)
	}
	return nil
}

func trimBounds(p *probe) error {
	s := p.session("a")
	all, err := p.filled(s, 5)
	if err != nil {
		return err
	}
	for _, keep := range []int{1000, 6, 5, 0} {
		ctx, cancel := p.op()
		defer cancel()
		if err := p.store.(Trimmer).Trim(ctx, s, keep); err != nil {
			return fmt.Errorf("trim to %d: %w", keep, err)
		}
		if err := p.exactly(p.store, s, all[max(0, len(all)-keep):]); err != nil {
			return fmt.Errorf("trimmed to %d of 5: %w", keep, err)
		}
	}
	return nil
}

func loadLast(p *probe) error {
	s := p.session("a")
	all, err := p.filled(s, 12)
	if err != nil {
		return err
	}
	for _, n := range []int{1, 2, 5, 11, 12, 13, 500} {
		ctx, cancel := p.op()
		defer cancel()
		got, err := p.store.(LastLoader).LoadLast(ctx, s, n)
		if err != nil {
			return err
		}
		if err := compare(got, all[max(0, len(all)-n):]); err != nil {
			return fmt.Errorf("the last %d: %w", n, err)
		}
	}
	return nil
}

func popNewest(p *probe) error {
	s := p.session("a")
	all, err := p.filled(s, 6)
	if err != nil {
		return err
	}
	for len(all) > 0 {
		ctx, cancel := p.op()
		defer cancel()
		m, ok, err := p.store.(Popper).Pop(ctx, s)
		last := all[len(all)-1]
		all = all[:len(all)-1]
		switch {
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("nothing was popped while %s was there", last)
		case !m.Equal(last):
			return fmt.Errorf("popped %s instead of %s", m, last)
		}
		if err := p.exactly(p.store, s, all); err != nil {
			return err
		}
	}
	ctx, cancel := p.op()
	defer cancel()
	if m, ok, err := p.store.(Popper).Pop(ctx, s); ok || err != nil {
		return fmt.Errorf("popping from an empty session: %v, %v, %v", m, ok, err)
	}
	return nil
}

func listSessions(p *probe) error {
	prefix := p.session("")
	var want []string
	for i := range 25 {
		s := p.session(fmt.Sprintf("%02d", i))
		if err := p.fill(p.store, s, 1); err != nil {
			return err
		}
		want = append(want, s)
	}
	gone := want[7]
	want = slices.Delete(want, 7, 8)
	ctx, cancel := p.op()
	defer cancel()
	if err := p.store.Clear(ctx, gone); err != nil {
		return err
	}
	if err := p.fill(p.store, "x"+prefix, 1); err != nil {
		return err
	}
	p.use("x" + prefix)
	got, err := p.store.(Lister).Sessions(ctx, prefix)
	if err != nil {
		return err
	}
	got = slices.DeleteFunc(got, func(s string) bool { return s == gone }) // may be listed: it exists, and is empty
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("listed were\n  %s\ninstead of\n  %s", strings.Join(got, " "), strings.Join(want, " "))
	}
	return nil
}

// longList has more sessions than fit on a page of any usual length.
func longList(p *probe) error {
	const count = 1050
	prefix := p.session("")
	want := make([]string, count)
	for i := range want {
		want[i] = p.session(fmt.Sprintf("%04d", i))
	}
	err := together(p.Writers, func(w int) error {
		for i := w; i < count; i += p.Writers {
			if err := p.add(p.store, want[i], 1, 1, 1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	ctx, cancel := p.op()
	defer cancel()
	got, err := p.store.(Lister).Sessions(ctx, prefix)
	if err != nil {
		return err
	}
	slices.Sort(got)
	if distinct := slices.Compact(slices.Clone(got)); len(distinct) != len(got) {
		return fmt.Errorf("of the %d sessions listed, only %d are different ones", len(got), len(distinct))
	}
	for _, s := range want {
		if _, listed := slices.BinarySearch(got, s); !listed {
			return fmt.Errorf("%d of %d sessions are listed; the first one that is not is %s", len(got), count, s)
		}
	}
	return nil
}
