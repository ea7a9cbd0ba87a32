package contract

import (
	"errors"
	"fmt"
	"time"
)

// Expiry is tested with a time to live that every store can express, a whole
// number of seconds.
const (
	ttl       = 2 * time.Second
	ttlSafe   = ttl * 7 / 10    // by then, nothing may have expired
	ttlPatent = 6 * time.Second // this long after its end, a session must be gone
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

func (p *probe) addTTL(session string, turn int) error {
	return p.noted(session, turnKey{1, turn}, 2, func() error {
		ctx, cancel := p.op()
		defer cancel()
		return p.store.(Expirer).AddTTL(ctx, session, ttl, p.turn(session, 1, turn, 2)...)
	})
}

// intactUntil looks at a session again and again until a moment.
func (p *probe) intactUntil(session string, end time.Time) error {
	for time.Now().Before(end) && p.ctx.Err() == nil {
		before := time.Now()
		if err := p.verify(p.store, session); err != nil && before.Before(end) {
			return fmt.Errorf("%s before its end: %w", time.Until(end.Add(ttl-ttlSafe)).Round(time.Millisecond), err)
		}
		pause(p.ctx, 100*time.Millisecond)
	}
	return p.ctx.Err()
}

func ttlNotEarly(p *probe) error {
	s := p.session("a")
	start := time.Now()
	if err := p.addTTL(s, 1); err != nil {
		return err
	}
	return p.intactUntil(s, start.Add(ttlSafe))
}

func ttlEnds(p *probe) error {
	s := p.session("a")
	for i := range 3 {
		if err := p.addTTL(s, i+1); err != nil {
			return err
		}
	}
	for end := time.Now().Add(ttl + ttlPatent); ; {
		ms, err := p.load(p.store, s)
		if err != nil {
			return err
		}
		if len(ms) == 0 {
			break
		}
		if err := p.verify(p.store, s); err != nil && len(ms) != 6 {
			return fmt.Errorf("the session ended in part: %w", err)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s after its end, all %d messages are still there", ttlPatent, len(ms))
		}
		pause(p.ctx, 100*time.Millisecond)
	}
	if err := p.add(p.store, s, 2, 1, 2); err != nil {
		return err
	}
	return p.exactly(p.store, s, p.turn(s, 2, 1, 2))
}

func ttlRefreshed(p *probe) error {
	s := p.session("a")
	for i := range 3 {
		start := time.Now()
		if err := p.addTTL(s, i+1); err != nil {
			return err
		}
		if err := p.intactUntil(s, start.Add(ttlSafe)); err != nil {
			return fmt.Errorf("after save %d: %w", i+1, err)
		}
	}
	return nil
}

func ttlOnlyIfAsked(p *probe) error {
	s, other := p.session("a"), p.session("b")
	if err := errors.Join(p.addTTL(other, 1), p.fill(p.store, s, 2)); err != nil {
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
	if err := p.addTTL(base, 1); err != nil {
		return err
	}
	for end := time.Now().Add(ttl + ttlPatent); ; {
		ms, err := p.load(p.store, base)
		if err != nil {
			return err
		}
		if len(ms) == 0 {
			return p.verifyEach(kept)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s after its end, %d messages are still there", ttlPatent, len(ms))
		}
		pause(p.ctx, 100*time.Millisecond)
	}
}
