package redis

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// message is one that was published. It does not change.
type message struct {
	scope   string // see scopeOf
	channel string
	payload []byte
}

// receipt tells how many received a message.
type receipt struct {
	done  chan struct{} // closed when count is known
	count int64
}

func publish(c *conn, args [][]byte) Action {
	if string(args[1]) == switchMaster {
		return errOwnChannel // its subscribers connect, with their secrets, to the address in it
	}
	return &Publish{message{scopeOf(c.namespace), string(args[1]), c.payload(args[2])}}
}

// publish hands a message to the subscribers of all nodes. Messages that one
// goroutine publishes come to each subscriber in that order.
func (s *Server) publish(ctx context.Context, m *message) *receipt {
	r := &receipt{done: make(chan struct{})}
	r.count = s.hub.publish(m)
	s.engine.Broadcast(ctx, telling(m), func(answers [][]byte) {
		for _, a := range answers {
			in := parts{rest: a}
			r.count += int64(in.number())
		}
		close(r.done)
	})
	return r
}

// publish publishes a message when all earlier writes of the connection are applied,
// so that who receives it can read them.
func (c *conn) publish(m *message) started {
	c.awaitBarrier()
	for _, w := range c.order.writes {
		c.await(w)
	}
	if c.subs.count() > 0 {
		c.replies.drain() // the message may come back, and not before earlier replies
	}
	c.replies.flush() // publishing can take its time
	r := c.srv.publish(c.srv.work, m)
	return started{ready: r.done, outcome: func() (Reply, error) {
		<-r.done
		return func(w *resp.Writer) { w.Int(r.count) }, nil
	}}
}

func pubsubChannels(c *conn, args [][]byte) Action {
	pattern := "*"
	switch len(args) {
	case 2:
	case 3:
		pattern = string(args[2])
	default:
		return Error("ERR unknown subcommand or wrong number of arguments for '" + clip(string(args[1]), 128) + "'. Try PUBSUB HELP.")
	}
	scope := scopeOf(c.namespace)
	return alone(func(ctx context.Context) (Reply, error) {
		all := c.srv.hub.names(channelsOf, scope, pattern)
		for _, a := range c.srv.everywhere(ctx, asking(whichChannel, scope, pattern)) {
			in := parts{rest: a}
			all = append(all, in.texts()...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		return func(w *resp.Writer) { writeNames(w, all) }, nil
	})
}

func pubsubNumPat(c *conn, _ [][]byte) Action {
	scope := scopeOf(c.namespace)
	return alone(func(ctx context.Context) (Reply, error) {
		all := c.srv.hub.names(patternsOf, scope, "*")
		for _, a := range c.srv.everywhere(ctx, asking(whichPattern, scope)) {
			in := parts{rest: a}
			all = append(all, in.texts()...)
		}
		slices.Sort(all)
		return count(uint64(len(slices.Compact(all)))), nil
	})
}

func pubsubNumSub(c *conn, args [][]byte) Action {
	scope, channels := scopeOf(c.namespace), names(args[2:])
	return alone(func(ctx context.Context) (Reply, error) {
		counts := c.srv.hub.counts(scope, channels)
		for _, a := range c.srv.everywhere(ctx, asking(howMany, scope, channels...)) {
			in := parts{rest: a}
			for i := range counts {
				counts[i] += int64(in.number())
			}
		}
		return func(w *resp.Writer) {
			w.Array(2 * len(channels))
			for i, name := range channels {
				w.BulkString(name)
				w.Int(counts[i])
			}
		}, nil
	})
}

func pubsubCommands() []command {
	const flags, general = "pubsub noscript loading stale", "pubsub loading stale"
	return []command{
		{name: "subscribe", stateful: true, arity: -2, reach: reachHeard, flags: flags, group: "pubsub", since: "2.0.0", handle: subscribe(toChannels("subscribe")), args: "channel [channel ...]", summary: "Receive what is published to the channels, through any node."},
		{name: "unsubscribe", stateful: true, arity: -1, reach: reachServer, flags: flags, group: "pubsub", since: "2.0.0", handle: unsubscribe(toChannels("unsubscribe")), args: "[channel [channel ...]]", summary: "Do not, any more; without names, for all channels."},
		{name: "psubscribe", stateful: true, arity: -2, reach: reachHeardAll, flags: flags, group: "pubsub", since: "2.0.0", handle: subscribe(toPatterns("psubscribe")), args: "pattern [pattern ...]", summary: "Receive what is published to channels whose names match."},
		{name: "punsubscribe", stateful: true, arity: -1, reach: reachServer, flags: flags, group: "pubsub", since: "2.0.0", handle: unsubscribe(toPatterns("punsubscribe")), args: "[pattern [pattern ...]]", summary: "Do not, any more; without names, for all patterns."},
		{name: "publish", arity: 3, reach: reachTold, flags: "pubsub loading stale fast", group: "pubsub", since: "2.0.0", handle: publish, args: "channel message", summary: "Send a message to the subscribers of a channel, at every node; answer how many received it."},
		{name: "pubsub", arity: -2, group: "pubsub", since: "2.8.0", summary: "Commands about subscriptions, at all nodes.", subs: []command{
			{name: "channels", arity: -2, reach: reachChannels, flags: general, since: "2.8.0", handle: pubsubChannels, args: "[pattern]", summary: "The channels that have subscribers."},
			{name: "numsub", arity: -2, reach: reachChannels, flags: general, since: "2.8.0", handle: pubsubNumSub, args: "[channel [channel ...]]", summary: "How many subscribers channels have."},
			{name: "numpat", arity: 2, reach: reachChannels, flags: general, since: "2.8.0", handle: pubsubNumPat, summary: "The number of patterns that have subscribers."},
			{name: "help", arity: 2, reach: reachServer, flags: "loading stale", acl: "-@pubsub", since: "6.2.0", handle: help("pubsub"), summary: "List the subcommands."},
		}},
	}
}

// publishes reports whether a transaction has something to publish.
func publishes(queue []queued) bool {
	return slices.ContainsFunc(queue, func(q queued) bool {
		_, ok := q.action.(*Publish)
		return ok
	})
}

// executePublishing is EXEC of a transaction that publishes: it does so when the
// transaction has taken place, and only then.
func (c *conn) executePublishing(a *Write, queue []queued) Action {
	c.awaitBarrier()
	c.replies.drain()
	var p Pending
	if tx := a.Op.(*turn.Tx); len(tx.Steps)+len(tx.Watch) > 0 {
		p = c.srv.engine.Submit(c.srv.work, tx)
	}
	return alone(func(ctx context.Context) (Reply, error) {
		var result turn.Result
		if p != nil {
			var err error
			result, err = p.Wait()
			c.order.noteWrite(result.Index)
			if err != nil || result.Aborted {
				return func(w *resp.Writer) { a.Done(w, result) }, err
			}
		}
		var receipts []*receipt
		for i := range queue {
			if p, ok := queue[i].action.(*Publish); ok {
				r := c.srv.publish(ctx, &p.message)
				queue[i].action = Reply(func(w *resp.Writer) { w.Int(r.count) })
				receipts = append(receipts, r)
			}
		}
		for _, r := range receipts {
			<-r.done
		}
		return func(w *resp.Writer) { a.Done(w, result) }, nil
	})
}
