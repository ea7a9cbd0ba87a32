package redis

import (
	"context"

	"github.com/turnlog/turnlog/internal/answers"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/pubsub"
	"github.com/turnlog/turnlog/internal/server/redis/transaction"
	"github.com/turnlog/turnlog/turn"
)

func multi(c *conn, _ [][]byte) command.Action   { return c.tx.Multi() }
func discard(c *conn, _ [][]byte) command.Action { return c.tx.Discard() }
func unwatch(c *conn, _ [][]byte) command.Action { return c.tx.Unwatch() }

func watch(c *conn, args [][]byte) command.Action {
	keys := make([]turn.Key, 0, len(args)-1)
	for _, a := range args[1:] {
		keys = append(keys, c.key(a))
	}
	return c.tx.Watch(keys, c.srv.backend)
}

// execute is EXEC.
func execute(c *conn, _ [][]byte) command.Action {
	b, answer := c.tx.Exec(c.srv.engine.Limits(), c.awaitBarrier)
	switch {
	case b == nil:
		return answer
	case b.Publishes():
		return c.executePublishing(b)
	case b.Empty():
		return command.Reply(func(w *resp.Writer) { b.Write.Done(w, turn.Result{}) })
	}
	return b.Write
}

// executePublishing is EXEC of a transaction that publishes: it does so when the
// transaction has taken place, and only then.
func (c *conn) executePublishing(b *transaction.Batch) command.Action {
	c.awaitBarrier()
	c.replies.Drain()
	var p command.Pending
	held, err := c.reserve(b.Write.Op)
	if err != nil {
		held.release()
		return command.Error(command.ErrorText(err, false))
	}
	if !b.Empty() {
		p = c.srv.engine.Submit(c.srv.work, b.Write.Op)
	}
	return command.Alone(func(ctx context.Context) (command.Reply, error) {
		var result turn.Result
		if p != nil {
			var err error
			result, err = p.Wait()
			c.order.NoteIndex(result.Index)
			c.order.Doubts.Note(p)
			if answers.Of(ctx).Made(answers.Size(&result)); held != nil {
				held.release()
			}
			if err != nil || result.Aborted {
				return func(w *resp.Writer) { b.Write.Done(w, result) }, err
			}
		}
		var receipts []*pubsub.Receipt
		b.Publish(func(p *command.Publish) command.Reply {
			r := c.srv.hub.Publish(ctx, p)
			receipts = append(receipts, r)
			return func(w *resp.Writer) { w.Int(r.Count) }
		})
		for _, r := range receipts {
			<-r.Done
		}
		return func(w *resp.Writer) { b.Write.Done(w, result) }, nil
	})
}
