package contract

import "context"

// crew returns one assignment for each writer.
func (p *probe) crew(session string, turns, parts int) []assignment {
	return p.crewOf(p.Writers, session, turns, parts)
}

func (p *probe) crewOf(n int, session string, turns, parts int) []assignment {
	as := make([]assignment, n)
	sc := p.script(session)
	for i := range as {
		as[i] = assignment{Session: session, Token: sc.token, Seed: sc.seed, Writer: i + 1, Turns: turns, Parts: parts}
	}
	return as
}

// work has every assignment carried out by a goroutine, all at once: through the
// given handle, or if it is nil, each through its own.
func (p *probe) work(ctx context.Context, shared Store, as []assignment) error {
	writers := make([]*writer, len(as))
	for i, a := range as {
		w := &writer{assignment: a, store: shared, open: p.opened, emit: p.history.record}
		if err := w.handle(ctx); err != nil {
			return err
		}
		writers[i] = w
	}
	return together(len(as), func(i int) error { return writers[i].run(ctx) })
}
