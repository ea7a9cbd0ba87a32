package contract

import (
	"fmt"
	"time"
)

// blueGreen is a deployment: the processes of the new version serve already while
// those of the old one are killed, each in the midst of a save.
func blueGreen(p *probe) error {
	const old, fresh = 3, 1
	s := p.session("a")
	as := p.crewOf(old+fresh, s, 1<<20, 2) // the old ones never end by themselves
	as[old].Turns = p.Turns
	children, end, err := p.spawnAll(p.ctx, as)
	defer end()
	if err != nil {
		return err
	}
	turns, delays := make([]int, old), make([]time.Duration, old)
	for i := range turns {
		turns[i], delays[i] = 3+p.random.IntN(6), time.Duration(p.random.IntN(3000))*time.Microsecond
	}
	err = together(len(as), func(i int) error {
		if i == old {
			return children[i].follow(&p.history)
		}
		return children[i].killAmid(&p.history, as[i], turns[i], delays[i])
	})
	if err != nil {
		return err
	}
	if err := p.verifyWhole(p.store, s); err != nil {
		return fmt.Errorf("after %d of %d processes were killed while they were saving: %w", old, len(as), err)
	}
	for turn := range 3 {
		if err := p.add(p.store, s, len(as)+1, turn+1, 2); err != nil {
			return fmt.Errorf("after %d of %d processes were killed while they were saving: %w", old, len(as), err)
		}
	}
	return p.verifyWhole(p.store, s)
}

// killAmid tells the process to begin, and kills it so long after it has reported a
// number of turns. Of the turn that is then being saved, nothing is known.
func (c *child) killAmid(h *history, a assignment, turns int, delay time.Duration) error {
	if err := c.begin(); err != nil {
		return err
	}
	last := event{Start: now(), End: now()}
	for {
		l, err := c.next()
		if err != nil {
			break // it is gone, or was cut off within a line
		}
		if l.Done {
			return fmt.Errorf("writer process %d ended by itself: %s", a.Writer, l.Error)
		}
		if l.Event == nil {
			continue
		}
		last = *l.Event
		h.record(last)
		if last.Key.Turn == turns {
			time.Sleep(delay)
			c.cmd.Process.Kill()
		}
	}
	if last.Key.Turn < turns {
		return c.end(fmt.Errorf("writer process %d ended after %d turns", a.Writer, last.Key.Turn))
	}
	h.record(event{Op: opAdd, Session: a.Session, Key: turnKey{a.Writer, last.Key.Turn + 1}, Parts: a.Parts,
		Start: last.End, End: now(), Outcome: unknown, Err: "the process was killed"})
	return nil
}
