package contract

import (
	"fmt"
	"time"
)

// Expiry is tested with a time to live that every store can express, a whole
// number of seconds.
const (
	ttl       = 2 * time.Second
	ttlMargin = 600 * time.Millisecond // before its end, a session is no longer looked at
	ttlPatent = 6 * time.Second        // this long after its end, a session must be gone
)

var expiryCases = []Case{
	{Name: "ttl-not-early", Incident: I1, Needs: []Capability{CanExpire}, run: ttlNotEarly, waits: true,
		Proves: "A session does not end before its time."},
	{Name: "ttl-ends", Incident: I1, Needs: []Capability{CanExpire}, run: ttlEnds, waits: true,
		Proves: "A session ends after its time, whole, and what comes later stands alone."},
	{Name: "ttl-refreshed", Incident: I1, Needs: []Capability{CanExpire}, run: ttlRefreshed, waits: true,
		Proves: "Every save moves the end of the session; a conversation that goes on never expires."},
	{Name: "ttl-only-if-asked", Incident: I1, Needs: []Capability{CanExpire}, run: ttlOnlyIfAsked, waits: true,
		Proves: "A session without a time to live stays."},
}

// addTTL saves a turn of two messages and returns the moment before which the
// session must not end.
func (p *probe) addTTL(session string, turn int) (end time.Time, err error) {
	end = time.Now().Add(ttl)
	return end, p.noted(session, turnKey{1, turn}, 2, func() error {
		ctx, cancel := p.op()
		defer cancel()
		return p.store.(Expirer).AddTTL(ctx, session, ttl, p.turn(session, 1, turn, 2)...)
	})
}

// intactUntil looks at a session again and again, until shortly before its end.
// What a slow load shows after the end proves nothing.
func (p *probe) intactUntil(session string, end time.Time) error {
	for time.Until(end) > ttlMargin && p.ctx.Err() == nil {
		err := p.verify(p.store, session)
		if left := time.Until(end); err != nil && left > 0 {
			return fmt.Errorf("%s before its end: %w", left.Round(time.Millisecond), err)
		}
		pause(p.ctx, 100*time.Millisecond)
	}
	return p.ctx.Err()
}

// ended waits until a session has ended: whole, and not long after its time, which
// has begun.
func (p *probe) ended(h Store, session string) error {
	for limit := time.Now().Add(ttl + ttlPatent); ; {
		ms, err := p.load(h, session)
		if err != nil || len(ms) == 0 {
			return err
		}
		if err := p.check(session, ms, audit{}); err != nil {
			return fmt.Errorf("the session ended in part: %w", err)
		}
		if time.Now().After(limit) {
			return fmt.Errorf("%w: %s after its end, %d messages are still there", errLate, ttlPatent, len(ms))
		}
		pause(p.ctx, 100*time.Millisecond)
	}
}

func ttlNotEarly(p *probe) error {
	s := p.session("a")
	end, err := p.addTTL(s, 1)
	if err != nil {
		return err
	}
	return p.intactUntil(s, end)
}

func ttlEnds(p *probe) error {
	s := p.session("a")
	if _, err := p.addTTL(s, 1); err != nil {
		return err
	}
	if err := p.ended(p.store, s); err != nil {
		return err
	}
	if err := p.add(p.store, s, 2, 1, 2); err != nil {
		return err
	}
	return p.exactly(p.store, s, p.turn(s, 2, 1, 2))
}

// ttlRefreshed begins anew when a save was so slow that the session may have ended
// before it.
func ttlRefreshed(p *probe) error {
	for attempt := range 12 {
		late, err := p.refreshes(p.session(fmt.Sprint(attempt)))
		if !late || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: saves take longer than a session lives", errUndecided)
}

// refreshes saves three turns, each shortly before the end that the one before has
// set. late: one of them came after it.
func (p *probe) refreshes(session string) (late bool, err error) {
	var before time.Time
	for i := range 3 {
		end, err := p.addTTL(session, i+1)
		if err != nil {
			return false, err
		}
		if i > 0 && time.Now().After(before) {
			return true, nil
		}
		if err := p.intactUntil(session, end); err != nil {
			return false, fmt.Errorf("after save %d: %w", i+1, err)
		}
		before = end
	}
	return false, nil
}

func ttlOnlyIfAsked(p *probe) error {
	s, other := p.session("a"), p.session("b")
	if _, err := p.addTTL(other, 1); err != nil {
		return err
	}
	if err := p.fill(p.store, s, 2); err != nil {
		return err
	}
	pause(p.ctx, ttl+500*time.Millisecond)
	return p.verify(p.store, s)
}

// expiryOne is about isolation: several sessions, one of which ends.
func expiryOne(p *probe) error {
	base := p.session("k")
	keep := []string{base + "1", base + ":x", base + "*"}
	kept, err := p.saveEach(keep)
	if err != nil {
		return err
	}
	if _, err := p.addTTL(base, 1); err != nil {
		return err
	}
	if err := p.ended(p.store, base); err != nil {
		return err
	}
	return p.verifyEach(kept)
}
