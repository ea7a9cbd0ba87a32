package transaction

import (
	"slices"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// Batch is a transaction as EXEC does it: one operation of all requests. Watched keys are compared
// when it is applied.
type Batch struct {
	Write *command.Write
	tx    *turn.Tx
	queue []queued
}

func newBatch(queue []queued, tx *turn.Tx, limits turn.Limits) *Batch {
	b := &Batch{Write: &command.Write{Op: tx}, tx: tx, queue: queue}
	for i := range queue {
		b.Write.Keys = append(b.Write.Keys, queue[i].addTo(tx, limits)...)
	}
	b.Write.Done = b.answer
	return b
}

// Empty reports whether there is nothing to submit: no request concerns a key.
func (b *Batch) Empty() bool { return len(b.tx.Steps)+len(b.tx.Watch) == 0 }

// answer writes the replies to all requests.
func (b *Batch) answer(w *resp.Writer, r turn.Result) {
	if r.Aborted {
		w.NullArray()
		return
	}
	w.Array(len(b.queue))
	for i := range b.queue {
		q := &b.queue[i]
		q.write(w, r.Steps[:q.steps])
		r.Steps = r.Steps[q.steps:]
	}
}

// Publishes reports whether some of the requests publish messages.
func (b *Batch) Publishes() bool {
	return slices.ContainsFunc(b.queue, func(q queued) bool {
		_, ok := q.action.(*command.Publish)
		return ok
	})
}

// Publish has each message published, in order. It must be called before Write.Done, if the batch
// publishes.
func (b *Batch) Publish(publish func(*command.Publish) command.Reply) {
	for i := range b.queue {
		if p, ok := b.queue[i].action.(*command.Publish); ok {
			b.queue[i].action = publish(p)
		}
	}
}
