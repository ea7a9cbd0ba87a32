package redis

import (
	"context"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
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
	written func()                        // to be called when the reply is written; may be nil
	gate    bool                          // the reply is the next gate among the pushes
}

// atGate is started for what is answered by a gate.
func atGate() started { return started{gate: true} }

// known is started for what is answered at once.
func known(r command.Reply, err error) started {
	return started{outcome: func() (command.Reply, error) { return r, err }}
}

// write performs a write inline, or hands it over, in order and without waiting for earlier ones.
func (c *conn) write(a *command.Write) started {
	if c.inlines(a.Keys) {
		return c.writeNow(a)
	}
	c.awaitBarrier()
	for _, k := range a.Keys {
		c.await(c.order.beforeWrite(k))
	}
	p := c.srv.engine.Submit(c.srv.work, a.Op)
	for _, k := range a.Keys {
		c.order.wrote(k, p)
	}
	return started{ready: p.Done(), outcome: func() (command.Reply, error) {
		r, err := p.Wait()
		c.order.noteWrite(r.Index)
		c.order.doubts.note(p) // before the client hears of it
		return func(w *resp.Writer) { a.Done(w, r) }, err
	}}
}

// task is what a goroutine of its own does for a request.
type task struct {
	keys  []turn.Key
	bulky bool
	// run returns the states that answered, too.
	run        func(ctx context.Context) (command.Reply, command.States, error)
	repeatable bool // run may be called again
	// linearizable: it begins when no earlier write of the connection can take place any more.
	linearizable bool
	// ending is called when run has returned, ended when its outcome is known; nil: nothing.
	ending, ended func()
}

// read performs a read inline, or launches it.
func (c *conn) read(a *command.Read) started {
	if c.inlines(a.Keys) {
		return c.readNow(a)
	}
	return c.launch(task{keys: a.Keys, bulky: a.Bulky, repeatable: true, linearizable: true,
		run: func(ctx context.Context) (command.Reply, command.States, error) { return c.srv.backend.Ask(ctx, a) }})
}

// work performs work inline, or launches it.
func (c *conn) work(a *command.Work) started {
	if c.inlines(a.Keys) {
		return c.workNow(a)
	}
	return c.launch(task{keys: a.Keys, bulky: a.Bulky, linearizable: a.Linearizable, run: unseen(a.Run)})
}

func (c *conn) writeNow(a *command.Write) started {
	p := c.srv.engine.Submit(c.srv.work, a.Op)
	r, err := p.Wait()
	c.order.noteWrite(r.Index)
	c.order.doubts.note(p)
	c.pacing.served()
	return known(func(w *resp.Writer) { a.Done(w, r) }, err)
}

func (c *conn) readNow(a *command.Read) started {
	r, _, err := c.srv.backend.Ask(c.srv.work, a)
	c.pacing.served()
	return known(r, err)
}

func (c *conn) workNow(a *command.Work) started {
	r, err := a.Run(c.srv.work)
	c.pacing.served()
	return known(r, err)
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
// further requests until it has ended: see outlast.
func (c *conn) launchWait(cmd *command.Command, a *command.Wait) started {
	c.beginBlock(cmd.Name)
	s := c.launch(task{linearizable: a.Linearizable, run: unseen(a.Run), ending: c.endBlock, ended: c.wake})
	c.blocking = s.ready
	return s
}

// launch performs a task in a goroutine of its own.
func (c *conn) launch(t task) started {
	c.awaitBarrier()
	read := &reading{done: make(chan struct{})}
	if t.keys == nil {
		c.replies.Drain()
		c.order.alone(read.done)
	}
	for _, k := range t.keys {
		c.order.beforeRead(k, read)
	}
	weight := 1
	if t.bulky {
		weight = bulkyReads
	}
	c.order.admit(weight)
	var r command.Reply
	var err error
	go func() {
		if t.ended != nil {
			defer t.ended()
		}
		defer close(read.done)
		if t.ending != nil {
			defer t.ending()
		}
		r, err = c.srv.read(read, &t, &c.order.doubts)
	}()
	outcome := func() (command.Reply, error) {
		<-read.done
		return r, err
	}
	return started{ready: read.done, outcome: outcome, written: func() { c.order.release(weight) }}
}

// await waits for something in flight. Replies that were written directly must
// not wait with it.
func (c *conn) await(done <-chan struct{}) {
	if done == nil || signal.Closed(done) {
		return
	}
	c.replies.Flush()
	c.srv.await(done)
}

// awaitBarrier waits until what everything must wait for has ended.
func (c *conn) awaitBarrier() { c.await(c.order.barrier) }
