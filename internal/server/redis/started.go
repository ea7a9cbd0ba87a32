package redis

import (
	"context"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/inflight"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// maxReads is how many reads of one connection may be in flight, or wait for
// their replies to be written, at once. A bulky one counts as bulkyReads, since
// its reply can be as long as Limits.ReadBytes.
const (
	maxReads   = 32
	bulkyReads = 8
)

// started is an action in flight.
type started struct {
	ready   <-chan struct{}               // closed when outcome will not wait; nil: it never does
	outcome func() (command.Reply, error) // waits for the engine's answer
	held    *charge                       // until the reply is written; nil: nothing
	weight  int                           // among the reads that the connection has in flight, until then
	gate    bool                          // the reply is the next gate among the pushes
}

// atGate is started for what is answered by a gate.
func atGate() started { return started{gate: true} }

// known is started for what is answered at once.
func known(r command.Reply, err error) started {
	return started{outcome: func() (command.Reply, error) { return r, err }}
}

// holding returns s with what it holds until the reply is written.
func (s started) holding(h *charge) started {
	s.held = h
	return s
}

// write performs a write inline, or hands it over, in order and without waiting for earlier ones.
func (c *conn) write(a *command.Write) started {
	if c.inlines(a.Keys) {
		return c.writeNow(a)
	}
	c.awaitBarrier()
	held, err := c.reserve(a.Op)
	if err != nil {
		return known(nil, err).holding(held)
	}
	for _, k := range a.Keys {
		c.await(c.order.BeforeWrite(k))
	}
	p := c.srv.engine.Submit(c.asking, a.Op)
	for _, k := range a.Keys {
		c.order.NoteWritten(k, p)
	}
	return started{ready: p.Done(), outcome: func() (command.Reply, error) {
		r, err := p.Wait()
		c.order.NoteIndex(r.Index)
		c.order.Doubts.Note(p) // before the client hears of it
		held.settled(&r, err)
		return func(w *resp.Writer) { a.Done(w, r) }, err
	}, held: held}
}

// inlines reports whether what concerns these keys is to be performed inline: nothing else
// is in flight, and nothing is expected to come before it is answered.
func (c *conn) inlines(keys []turn.Key) bool {
	if keys == nil || c.replies.Shared || c.order.Doubts.Open() {
		return false
	}
	if c.unread() || !c.replies.Idle() {
		c.pacing.Broken()
		return false
	}
	return c.pacing.Single()
}

// launched is a task with what it concerns. Without keys, nothing else is in flight beside it.
type launched struct {
	inflight.Task
	keys  []turn.Key
	bulky bool
	held  *charge // what its answers are charged to; nil: they are small
	// ending is called when run has returned, ended when its outcome is known; nil: nothing.
	ending, ended func()
}

// read performs a read inline, or launches it.
func (c *conn) read(a *command.Read) started {
	if c.inlines(a.Keys) {
		return c.readNow(a)
	}
	ask := func(ctx context.Context) (command.Reply, command.States, error) { return c.srv.backend.Ask(ctx, a) }
	return c.launch(launched{keys: a.Keys, bulky: a.Bulky, held: c.holds(a),
		Task: inflight.Task{Repeatable: true, Linearizable: true, Run: ask}})
}

// work performs work inline, or launches it.
func (c *conn) work(a *command.Work) started {
	if c.inlines(a.Keys) {
		return c.workNow(a)
	}
	return c.launch(launched{keys: a.Keys, bulky: a.Bulky, held: c.charge(asksOneByOne),
		Task: inflight.Task{Linearizable: a.Linearizable, Run: unseen(a.Run)}})
}

func (c *conn) writeNow(a *command.Write) started {
	held, err := c.reserve(a.Op)
	if err != nil {
		return known(nil, err).holding(held)
	}
	p := c.srv.engine.Submit(c.asking, a.Op)
	r, err := p.Wait()
	c.order.NoteIndex(r.Index)
	c.order.Doubts.Note(p)
	held.settled(&r, err)
	c.pacing.Served()
	return known(func(w *resp.Writer) { a.Done(w, r) }, err).holding(held)
}

func (c *conn) readNow(a *command.Read) started {
	ctx, held := c.asking, c.holds(a)
	if held != nil {
		ctx = held.in(ctx)
	}
	r, _, err := c.srv.backend.Ask(ctx, a)
	c.pacing.Served()
	return known(r, err).holding(held)
}

func (c *conn) workNow(a *command.Work) started {
	held := c.charge(asksOneByOne)
	r, err := a.Run(held.in(c.asking))
	c.pacing.Served()
	return known(r, err).holding(held)
}

// holds returns what the answers of a read are charged to; nil: they are small.
func (c *conn) holds(a *command.Read) *charge {
	if !a.Bulky {
		return nil
	}
	if len(a.Queries) > 1 {
		return c.charge(asksAll)
	}
	return c.charge(asksOnce)
}

// unseen adds to run that it is not known what states answered.
func unseen(run func(context.Context) (command.Reply, error)) func(context.Context) (command.Reply,
	command.States, error) {
	return func(ctx context.Context) (r command.Reply, seen command.States, err error) {
		if r, err = run(ctx); err == nil {
			seen = command.UnknownStates()
		}
		return r, seen, err
	}
}

// launchWait launches what may wait for other clients, and keeps the connection from handling
// further requests until it has ended: see wire.Wire.Outlast.
func (c *conn) launchWait(cmd *command.Command, a *command.Wait) started {
	c.block.Begin(cmd.Name)
	c.blocking = c.charge(asksAll)
	s := c.launch(launched{Task: inflight.Task{Linearizable: a.Linearizable, Run: unseen(a.Run)}, held: c.blocking,
		ending: c.endBlock, ended: c.wire.Wake})
	c.wire.Block(s.ready)
	return s
}

// waits notes that a request has begun to wait.
func (c *conn) waits(command string) {
	c.srv.blocked.Add(1)
	c.client.SetCommand(command)
}

// endBlock notes that the request that blocks the connection has ended.
func (c *conn) endBlock() {
	command, waited := c.block.Finish()
	if waited {
		c.srv.blocked.Add(-1)
		return
	}
	c.client.SetCommand(command)
}

// launch performs a task in a goroutine of its own.
func (c *conn) launch(t launched) started {
	c.awaitBarrier()
	read := &inflight.Read{Done: make(chan struct{})}
	if t.keys == nil {
		c.replies.Drain()
		c.order.SetBarrier(read.Done)
	}
	for _, k := range t.keys {
		c.order.BeforeRead(k, read)
	}
	weight := 1
	if t.bulky {
		weight = bulkyReads
	}
	c.order.Admit(weight)
	var r command.Reply
	var err error
	if t.held != nil {
		t.Run = inCharge(t.held, t.Run)
	}
	asking := c.asking
	go func() {
		if t.ended != nil {
			defer t.ended()
		}
		defer close(read.Done)
		if t.ending != nil {
			defer t.ending()
		}
		r, err = read.Perform(asking, c.srv.engine, &t.Task, &c.order.Doubts)
	}()
	outcome := func() (command.Reply, error) {
		<-read.Done
		return r, err
	}
	return started{ready: read.Done, outcome: outcome, held: t.held, weight: weight}
}

// await waits for something in flight. Replies that were written directly must
// not wait with it.
func (c *conn) await(done <-chan struct{}) {
	if done == nil || signal.Closed(done) {
		return
	}
	c.replies.Flush()
	inflight.Await(c.srv.work, done)
}

// awaitBarrier waits until what everything must wait for has ended.
func (c *conn) awaitBarrier() { c.await(c.order.Barrier) }
