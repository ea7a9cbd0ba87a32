package contract

import (
	"fmt"
	"time"
)

// Expiry is tested with a time to live that every store can express, a whole
// number of seconds.
const (
	ttl       = 2 * time.Second
	ttlMargin = 600 * time.Millisecond // before its end, a session that goes on is saved to again
	ttlLook   = 50 * time.Millisecond  // before its end, a session is looked at for the last time
	ttlPatent = 6 * time.Second        // this long after its end, a session must be gone
)

var expiryCases = []Case{
	{Name: "ttl-not-early", Incident: I1, Needs: []Capability{CanExpire}, run: probing(ttlNotEarly), waits: true,
		Proves: "A session does not end before its time."},
	{Name: "ttl-ends", Incident: I1, Needs: []Capability{CanExpire}, run: probing(ttlEnds), waits: true,
		Proves: "A session ends after its time, whole, and what comes later stands alone."},
	{Name: "ttl-refreshed", Incident: I1, Needs: []Capability{CanExpire}, run: probing(ttlRefreshed), waits: true,
		Proves: "Every save moves the end of the session; a conversation that goes on never expires."},
	{Name: "ttl-refreshed-late", Incident: I1, Needs: []Capability{CanExpire},
		run: probing(ttlRefreshedLate), waits: true,
		Proves: "Also a save in the last moments of a session moves its end."},
	{Name: "ttl-refreshed-at-once", Incident: I1, Needs: []Capability{CanExpire},
		run: probing(ttlRefreshedAtOnce), waits: true,
		Proves: "A save right after another one moves the end, too."},
	{Name: "ttl-only-if-asked", Incident: I1, Needs: []Capability{CanExpire}, run: probing(ttlOnlyIfAsked), waits: true,
		Proves: "A session without a time to live stays."},
}

// expiryProbe knows sessions that end.
type expiryProbe struct{ *probe }

// addTTL saves a turn of two messages and returns the moment before which the
// session must not end.
func (p expiryProbe) addTTL(session string, turn int) (end time.Time, err error) {
	return p.addFor(session, turn, ttl)
}

func (p expiryProbe) addFor(session string, turn int, life time.Duration) (end time.Time, err error) {
	end = time.Now().Add(life)
	return end, p.noted(session, turnKey{1, turn}, 2, func() error {
		ctx, cancel := p.op()
		defer cancel()
		return p.store.(Expirer).AddTTL(ctx, session, life, p.turn(session, 1, turn, 2)...)
	})
}

// intactUntil looks at a session again and again, until so long before its end, and
// returns how long before it the last look was over. What a slow load shows after the
// end proves nothing.
func (p expiryProbe) intactUntil(session string, end time.Time, margin time.Duration) (last time.Duration, err error) {
	for final := false; !final && p.ctx.Err() == nil; {
		wait := min(100*time.Millisecond, time.Until(end)-margin)
		final = wait < 100*time.Millisecond
		pause(p.ctx, wait)
		err := p.verify(p.store, session)
		left := time.Until(end)
		if err != nil && left > 0 {
			return left, fmt.Errorf("%s before its end: %w", left.Round(time.Millisecond), err)
		}
		if left > 0 {
			last = left
		}
	}
	return last, p.ctx.Err()
}

// ended waits until a session has ended: whole, and not long after its time, which
// has begun.
func (p expiryProbe) ended(h Store, session string) error {
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

// ttlNotEarly begins again when the last look at the session was long before its end,
// as it is on a machine that has much else to do.
func ttlNotEarly(p expiryProbe) error {
	for attempt := range 5 {
		s := p.session(fmt.Sprint(attempt))
		end, err := p.addTTL(s, 1)
		if err != nil {
			return err
		}
		last, err := p.intactUntil(s, end, ttlLook)
		if err != nil || last > 0 && last < 4*ttlLook {
			return err
		}
	}
	return nil // a slow store is seen to be there as late as it can be asked
}

func ttlEnds(p expiryProbe) error {
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

// ttlRefreshed begins again when a save was so slow that the session may have ended
// before it.
func ttlRefreshed(p expiryProbe) error {
	for attempt := range 12 {
		late, err := p.refreshes(p.session(fmt.Sprint(attempt)), 3, ttlMargin)
		if !late || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: saves take longer than a session lives", errUndecided)
}

// ttlRefreshedLate saves as late as it dares, and earlier when that was too late.
func ttlRefreshedLate(p expiryProbe) error {
	for attempt := range 12 {
		margin := 100*time.Millisecond + time.Duration(attempt)*40*time.Millisecond
		late, err := p.refreshes(p.session(fmt.Sprint(attempt)), 2, margin)
		if !late || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: saves take longer than the last moments of a session", errUndecided)
}

// refreshes saves turns, each so long before the end that the one before has set, and
// looks whether the session outlives that. late: a save came after it.
func (p expiryProbe) refreshes(session string, saves int, margin time.Duration) (late bool, err error) {
	var before time.Time
	for i := range saves {
		end, err := p.addTTL(session, i+1)
		if err != nil {
			return false, err
		}
		if i > 0 && time.Now().After(before) {
			return true, nil
		}
		if i == saves-1 {
			margin = ttl / 2
		}
		if _, err := p.intactUntil(session, end, margin); err != nil {
			return false, fmt.Errorf("after save %d: %w", i+1, err)
		}
		before = end
	}
	return false, nil
}

// ttlRefreshedAtOnce has the second save live longer, so that a load can be slow and
// still see whether it moved the end.
func ttlRefreshedAtOnce(p expiryProbe) error {
	for attempt := range 12 {
		s := p.session(fmt.Sprint(attempt))
		before, err := p.addTTL(s, 1)
		if err != nil {
			return err
		}
		end, err := p.addFor(s, 2, 2*ttl)
		if err != nil {
			return err
		}
		if time.Now().After(before) {
			continue // it may have ended before
		}
		_, err = p.intactUntil(s, end, ttl/2)
		return err
	}
	return fmt.Errorf("%w: saves take longer than a session lives", errUndecided)
}

func ttlOnlyIfAsked(p expiryProbe) error {
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
