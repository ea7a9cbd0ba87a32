package contract

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var restartCases = []Case{
	{Name: "stop", Incident: I4, Needs: []Capability{CanStop}, run: probing(survives(CanStop)),
		Proves: "What was saved is there after the store was stopped and started."},
	{Name: "kill", Incident: I4, Needs: []Capability{CanKill}, run: probing(survives(CanKill)),
		Proves: "What was saved is there after kill -9."},
	{Name: "kill-while-saving", Incident: I4, Needs: []Capability{CanKill}, run: probing(whileSaving(CanKill)),
		Proves: "Of turns that were being saved at kill -9, the acknowledged ones are there, all whole, none twice."},
	{Name: "leader-killed", Incident: I4, Needs: []Capability{CanKillLead}, run: probing(survives(CanKillLead)),
		Proves: "What was saved is there after kill -9 of the leader."},
	{Name: "leader-killed-while-saving", Incident: I4, Needs: []Capability{CanKillLead},
		run: probing(whileSaving(CanKillLead)),
		Proves: "Of turns that were being saved when the leader was killed, the acknowledged ones are there, all " +
			"whole, none twice."},
	{Name: "leader-killed-linearizable", Incident: I5, Needs: []Capability{CanKillLead, HasLinear},
		run:    probing(linearizableWhile(CanKillLead)),
		Proves: "Also while the leader is killed, one order of all saves and loads explains every answer."},
	{Name: "all-killed", Incident: I4, Needs: []Capability{CanKillAll}, run: probing(survives(CanKillAll)),
		Proves: "What was saved is there after kill -9 of every node at once."},
	{Name: "all-killed-while-saving", Incident: I4, Needs: []Capability{CanKillAll},
		run: probing(whileSaving(CanKillAll)),
		Proves: "Of turns that were being saved when every node was killed, the acknowledged ones are there, all " +
			"whole, none twice."},
	{Name: "node-replaced", Incident: I4, Needs: []Capability{CanReplace}, run: probing(survives(CanReplace)),
		Proves: "What was saved is there after a node was lost for good and another one took its place."},
	{Name: "order-goes-on", Incident: I4, Needs: []Capability{CanRestart}, run: probing(orderGoesOn),
		Proves: "What is saved after a restart comes after what was saved before."},
	{Name: "cleared-stays-cleared", Incident: I3, Needs: []Capability{CanRestart}, run: probing(clearedStays),
		Proves: "What was cleared before a restart does not come back."},
	{Name: "deleted-stays-deleted", Incident: I3, Needs: []Capability{CanRestart, CanDelete},
		run:    probing(deletedStays),
		Proves: "What was deleted before a restart does not come back."},
	{Name: "trimmed-stays-trimmed", Incident: I3, Needs: []Capability{CanRestart, CanTrim}, run: probing(trimmedStays),
		Proves: "What was trimmed before a restart does not come back, and what was kept is there."},
	{Name: "popped-stays-popped", Incident: I3, Needs: []Capability{CanRestart, CanPop}, run: probing(poppedStays),
		Proves: "What was popped before a restart does not come back, and what was before it is there."},
	{Name: "blue-green", Incident: I4, Needs: []Capability{HasProcesses}, run: probing(blueGreen),
		Proves: "While a new process serves, old ones are killed in the midst of a save: what was acknowledged is " +
			"there, whole, once, and the new one goes on."},
	{Name: "ttl-survives", Incident: I1, Needs: []Capability{CanRestart, CanExpire}, run: probing(ttlSurvives),
		Proves: "A restart neither forgets the end of a session nor brings it forward."},
}

// survives saves several conversations, restarts at once, and looks for them.
func survives(kind Capability) func(restartProbe) error {
	return func(p restartProbe) error {
		var sessions []string
		for i := range 5 {
			sessions = append(sessions, p.session(fmt.Sprint(i)))
		}
		err := together(len(sessions), func(i int) error { return p.fill(p.store, sessions[i], p.Turns) })
		if err != nil {
			return err
		}
		if err := p.restart(kind); err != nil {
			return err
		}
		h, err := p.reopened()
		if err != nil {
			return err
		}
		for _, s := range sessions {
			if err := p.verifyWhole(h, s); err != nil {
				return fmt.Errorf("after %s: %w", kind, err)
			}
		}
		return nil
	}
}

// amid restarts while a crew is saving: as soon as a third of the turns are
// acknowledged. Writers go on until they are through. It is an error if they are through
// before: then so many saves failed that nothing can be said about the restart.
func (p restartProbe) amid(kind Capability, as []assignment) error {
	total := 0
	for i := range as {
		as[i].Stubborn, as[i].Again = true, p.Target.Claims.IDs
		total += as[i].Turns
	}
	ctx, stop := context.WithCancel(p.ctx)
	defer stop()
	restarted := make(chan error, 1)
	go func() {
		err := p.restartAfter(ctx, total/3, kind)
		if err != nil {
			stop() // there is nothing to wait for
		}
		restarted <- err
	}()
	err := p.work(ctx, nil, as)
	stop()
	return errors.Join(<-restarted, err)
}

// restartAfter restarts when so many turns are acknowledged.
func (p restartProbe) restartAfter(ctx context.Context, turns int, kind Capability) error {
	for p.history.saved.Load() < int64(turns) {
		if ctx.Err() != nil {
			return fmt.Errorf("only %d turns were saved, and it takes %d before %s; the last error: %s",
				p.history.saved.Load(), turns, kind, p.history.lastError())
		}
		pause(ctx, time.Millisecond)
	}
	return p.restart(kind)
}

func whileSaving(kind Capability) func(restartProbe) error {
	return func(p restartProbe) error {
		s := p.session("a")
		if err := p.amid(kind, p.crew(s, p.Turns*2, 2)); err != nil {
			return err
		}
		h, err := p.reopened()
		if err != nil {
			return err
		}
		if err := p.verifyWhole(h, s); err != nil {
			return fmt.Errorf("after %s among saves: %w", kind, err)
		}
		return nil
	}
}

func linearizableWhile(kind Capability) func(restartProbe) error {
	return func(p restartProbe) error {
		s := p.session("a")
		as := p.crew(s, p.Turns, 1)[:min(4, p.Writers)]
		for i := range as {
			as[i].Reads = true
		}
		if err := p.amid(kind, as); err != nil {
			return err
		}
		h, err := p.reopened()
		if err != nil {
			return err
		}
		return orderProbe(p).oneOrder(h, s)
	}
}

func orderGoesOn(p restartProbe) error {
	s := p.session("a")
	h := p.store
	for range 2 {
		if err := p.fill(h, s, 5); err != nil {
			return err
		}
		if err := p.anyRestart(); err != nil {
			return err
		}
		var err error
		if h, err = p.reopened(); err != nil {
			return err
		}
	}
	if err := p.fill(h, s, 5); err != nil {
		return err
	}
	return p.verifyWhole(h, s)
}

func ttlSurvives(p restartProbe) error {
	expiry := expiryProbe(p)
	short, long := p.session("short"), p.session("long")
	ctx, cancel := p.op()
	defer cancel()
	_, err := expiry.addTTL(short, 1)
	if err != nil {
		return err
	}
	err = p.noted(long, turnKey{1, 1}, 2, func() error {
		return p.store.(Expirer).AddTTL(ctx, long, time.Hour, p.turn(long, 1, 1, 2)...)
	})
	if err != nil {
		return err
	}
	if err := p.anyRestart(); err != nil {
		return err
	}
	h, err := p.reopened()
	if err != nil {
		return err
	}
	if err := expiry.ended(h, short); err != nil {
		return err
	}
	if err := p.verifyWhole(h, long); err != nil {
		return fmt.Errorf("the session that ends in an hour: %w", err)
	}
	return nil
}
