package contract

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/turnlog/turnlog/contract/internal/clock"
)

var concurrencyCases = []Case{
	{Name: "one-handle", Incident: I1, run: oneHandle,
		Proves: "Many goroutines that save to one session through one handle lose nothing."},
	{Name: "many-handles", Incident: I1, run: manyHandles,
		Proves: "Many workers, each with its own handle, that save to one session lose nothing."},
	{Name: "processes", Incident: I1, Needs: []Capability{HasProcesses}, run: probing(manyProcesses),
		Proves: "Several processes that save to one session lose nothing."},
	{Name: "first-turn", Incident: I1, run: firstTurn,
		Proves: "Workers that all save the first turn of new sessions lose none."},
	{Name: "turns-whole", Incident: I1, run: turnsWhole,
		Proves: "The messages of one turn stay next to each other, also while others are saving."},
	{Name: "many-sessions", Incident: I2, run: manySessions,
		Proves: "Writers to many sessions at once through one handle reach their own session only."},
	{Name: "growing", Incident: I5, run: probing(growing),
		Proves: "A reader sees whole turns while others save, and never fewer than before."},
	{Name: "own-writes", Incident: I5, run: ownWrites,
		Proves: "Every worker sees its own turns in the very next load, whatever the others do."},
	{Name: "large-turns", Incident: I1, run: largeTurns,
		Proves: "Large turns that are saved at once do not mix or push each other out."},
	{Name: "async-burst", Incident: I1, Needs: []Capability{CanAsync}, run: asyncBurst,
		Proves: "A burst of asynchronous saves loses none of those that report success."},
	{Name: "clear-while-saving", Incident: I3, run: clearWhileSaving,
		Proves: "A clear among saves leaves whole turns, and all that were begun after it."},
	{Name: "trim-while-saving", Incident: I3, Needs: []Capability{CanTrim}, run: trimWhileSaving,
		Proves: "Trimming to a number that is never exceeded removes nothing, also among saves."},
	{Name: "pop-once", Incident: I3, Needs: []Capability{CanPop}, run: popOnce,
		Proves: "Workers that pop at once get every message exactly once."},
	{Name: "linearizable", Incident: I5, Needs: []Capability{HasLinear}, run: probing(linearizable),
		Proves: "There is one order of all saves and loads that explains every answer."},
	{Name: "linearizable-processes", Incident: I5, Needs: []Capability{HasLinear, HasProcesses},
		run:    probing(linearizableProcesses),
		Proves: "The same, among several processes."},
}

// orderProbe looks for one order of all calls.
type orderProbe struct{ *probe }

func oneHandle(p *probe) error {
	s := p.session("a")
	if err := p.work(p.ctx, p.store, p.crew(s, p.Turns, 2)); err != nil {
		return err
	}
	return p.verify(p.store, s)
}

func manyHandles(p *probe) error {
	s := p.session("a")
	if err := p.work(p.ctx, nil, p.crew(s, p.Turns, 2)); err != nil {
		return err
	}
	return p.verify(p.store, s)
}

func manyProcesses(p processProbe) error {
	s := p.session("a")
	if err := p.processes(p.ctx, p.crew(s, p.Turns, 2)); err != nil {
		return err
	}
	return p.verify(p.store, s)
}

func firstTurn(p *probe) error {
	for i := range 5 {
		s := p.session(fmt.Sprint(i))
		if err := p.work(p.ctx, nil, p.crew(s, 1, 2)); err != nil {
			return err
		}
		if err := p.verify(p.store, s); err != nil {
			return err
		}
	}
	return nil
}

func turnsWhole(p *probe) error {
	s := p.session("a")
	if err := p.work(p.ctx, nil, p.crew(s, p.Turns, 4)); err != nil {
		return err
	}
	return p.verifyWhole(p.store, s)
}

func manySessions(p *probe) error {
	var all []assignment
	for i := range 2 * p.Writers {
		s := p.session(fmt.Sprint(i))
		all = append(all, p.crew(s, max(1, p.Turns/2), 2)[0])
	}
	if err := p.work(p.ctx, p.store, all); err != nil {
		return err
	}
	for _, a := range all {
		if err := p.verifyWhole(p.store, a.Session); err != nil {
			return fmt.Errorf("session %s: %w", a.Session, err)
		}
	}
	return nil
}

// growing reads through a handle of its own as long as others save.
func growing(p orderProbe) error {
	s := p.session("a")
	reader, err := p.open()
	if err != nil {
		return err
	}
	var busy atomic.Bool
	busy.Store(true)
	var group sync.WaitGroup
	var readErr error
	group.Go(func() { readErr = p.watchGrowth(reader, s, &busy) })
	err = p.work(p.ctx, nil, p.crew(s, p.Turns, 2))
	busy.Store(false)
	group.Wait()
	if err := errors.Join(err, readErr); err != nil {
		return err
	}
	return p.verify(p.store, s)
}

func (p orderProbe) watchGrowth(reader Store, session string, busy *atomic.Bool) error {
	var before []Message
	for busy.Load() {
		ms, err := p.load(reader, session)
		if err != nil {
			return err
		}
		for i := range before {
			if i >= len(ms) || !ms[i].Equal(before[i]) {
				return fmt.Errorf("a load showed %d messages, and the next one does not begin with them: %w",
					len(before), compare(ms[:min(len(ms), len(before))], before))
			}
		}
		if n := len(ms); n > 0 {
			if l, ok := parseLabel(ms[n-1].Content); ok && l.part != l.parts {
				return fmt.Errorf("a load shows half a turn at its end: %s", l)
			}
		}
		before = ms
	}
	return nil
}

func ownWrites(p *probe) error {
	s := p.session("a")
	as := p.crew(s, max(1, p.Turns/2), 2)
	for i := range as {
		as[i].Reads = true
	}
	if err := p.work(p.ctx, nil, as); err != nil {
		return err
	}
	events := p.history.of(s)
	for _, l := range events {
		if l.Op != opLoad {
			continue
		}
		shown := 0
		for _, k := range l.Seen {
			if k.Writer == l.Key.Writer {
				shown++
			}
		}
		own := 0
		for _, a := range events {
			if a.Op == opAdd && a.Key.Writer == l.Key.Writer && a.Outcome == saved && a.End <= l.Start {
				own++
			}
		}
		if shown < own {
			return fmt.Errorf("writer %d had %d turns acknowledged, and its next load shows %d of them\n%s",
				l.Key.Writer, own, shown,
				around(events, func(e *event) bool { return e.Start == l.Start && e.Op == opLoad }))
		}
	}
	return p.verify(p.store, s)
}

func largeTurns(p *probe) error {
	s := p.session("a")
	if err := p.work(p.ctx, nil, p.crew(s, 3, 60)); err != nil {
		return err
	}
	return p.verifyWhole(p.store, s)
}

func asyncBurst(p *probe) error {
	s := p.session("a")
	ctx, cancel := p.op()
	defer cancel()
	n := p.Writers * p.Turns / 2
	outcomes := make([]<-chan error, n)
	begun := make([]event, n)
	for i := range n {
		k := turnKey{1 + i%p.Writers, 1 + i/p.Writers}
		begun[i] = event{Op: opAdd, Session: s, Key: k, Parts: 2, Start: clock.Now()}
		outcomes[i] = p.store.(AsyncAdder).AddAsync(ctx, s, p.turn(s, k.Writer, k.Turn, 2)...)
	}
	for i, c := range outcomes {
		err := <-c
		begun[i].finish(err)
		p.history.record(begun[i])
		if err != nil {
			return err
		}
	}
	return p.verify(p.store, s)
}

func linearizable(p orderProbe) error {
	return p.linear(func(as []assignment) error { return p.work(p.ctx, nil, as) })
}

func linearizableProcesses(p orderProbe) error {
	return p.linear(func(as []assignment) error { return processProbe(p).processes(p.ctx, as) })
}

// linear has a crew save and load, and looks for the order.
func (p orderProbe) linear(work func([]assignment) error) error {
	s := p.session("a")
	as := p.crew(s, max(1, p.Turns/2), 1)
	for i := range as {
		as[i].Reads = true
		as[i].Condition = p.c.Gate == Conflict
	}
	if err := work(as); err != nil {
		return err
	}
	return p.oneOrder(p.store, s)
}

// oneOrder loads a session when all writers have ended, and checks its history.
func (p orderProbe) oneOrder(s Store, session string) error {
	last := event{Op: opLoad, Session: session, Outcome: saved, Start: clock.Now()}
	ms, err := p.load(s, session)
	if err != nil {
		return err
	}
	last.Seen, last.End = turnsOf(ms), clock.Now()
	p.history.record(last)
	if err := p.check(session, ms, audit{}); err != nil {
		return err
	}
	return checkLinearizable(p.history.of(session), p.Timeout/2)
}
