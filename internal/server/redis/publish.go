package redis

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// message is one that was published. It does not change.
type message struct {
	scope   string // see scopeOf
	channel string
	payload []byte
}

func messageOf(p *command.Publish) *message {
	return &message{scopeOf(p.Namespace), p.Channel, p.Payload}
}

// receipt tells how many received a message.
type receipt struct {
	done  chan struct{} // closed when count is known
	count int64
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
	for _, w := range c.order.Writes {
		c.await(w.Done())
	}
	if c.subs.count() > 0 {
		c.replies.Drain() // the message may come back, and not before earlier replies
	}
	c.replies.Flush() // publishing can take its time
	r := c.srv.publish(c.srv.work, m)
	return started{ready: r.done, outcome: func() (command.Reply, error) {
		<-r.done
		return func(w *resp.Writer) { w.Int(r.count) }, nil
	}}
}

func pubsubChannels(c *conn, args [][]byte) command.Action {
	pattern := "*"
	switch len(args) {
	case 2:
	case 3:
		pattern = string(args[2])
	default:
		return command.Error("ERR unknown subcommand or wrong number of arguments for '" +
			command.Clip(string(args[1]), 128) + "'. Try PUBSUB HELP.")
	}
	scope := scopeOf(c.namespace)
	return command.Alone(func(ctx context.Context) (command.Reply, error) {
		all := c.srv.hub.names(channelsOf, scope, pattern)
		for _, a := range c.srv.everywhere(ctx, asking(whichChannel, scope, pattern)) {
			in := parts{rest: a}
			all = append(all, in.texts()...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		return func(w *resp.Writer) { command.WriteNames(w, all) }, nil
	})
}

func pubsubNumPat(c *conn, _ [][]byte) command.Action {
	scope := scopeOf(c.namespace)
	return command.Alone(func(ctx context.Context) (command.Reply, error) {
		all := c.srv.hub.names(patternsOf, scope, "*")
		for _, a := range c.srv.everywhere(ctx, asking(whichPattern, scope)) {
			in := parts{rest: a}
			all = append(all, in.texts()...)
		}
		slices.Sort(all)
		return command.Count(uint64(len(slices.Compact(all)))), nil
	})
}

func pubsubNumSub(c *conn, args [][]byte) command.Action {
	scope, channels := scopeOf(c.namespace), command.Names(args[2:])
	return command.Alone(func(ctx context.Context) (command.Reply, error) {
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

// publishes reports whether a transaction has something to publish.
func publishes(queue []queued) bool {
	return slices.ContainsFunc(queue, func(q queued) bool {
		_, ok := q.action.(*command.Publish)
		return ok
	})
}

// executePublishing is EXEC of a transaction that publishes: it does so when the
// transaction has taken place, and only then.
func (c *conn) executePublishing(a *command.Write, queue []queued) command.Action {
	c.awaitBarrier()
	c.replies.Drain()
	var p command.Pending
	if tx := a.Op.(*turn.Tx); len(tx.Steps)+len(tx.Watch) > 0 {
		p = c.srv.engine.Submit(c.srv.work, tx)
	}
	return command.Alone(func(ctx context.Context) (command.Reply, error) {
		var result turn.Result
		if p != nil {
			var err error
			result, err = p.Wait()
			c.order.NoteIndex(result.Index)
			c.order.Doubts.Note(p)
			if err != nil || result.Aborted {
				return func(w *resp.Writer) { a.Done(w, result) }, err
			}
		}
		var receipts []*receipt
		for i := range queue {
			if p, ok := queue[i].action.(*command.Publish); ok {
				r := c.srv.publish(ctx, messageOf(p))
				queue[i].action = command.Reply(func(w *resp.Writer) { w.Int(r.count) })
				receipts = append(receipts, r)
			}
		}
		for _, r := range receipts {
			<-r.done
		}
		return func(w *resp.Writer) { a.Done(w, result) }, nil
	})
}
