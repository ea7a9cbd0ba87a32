package queries

import (
	"iter"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

func budgeted(q *turn.Read) bool { return q.Whole || q.MaxBytes > 0 || q.MaxTokens > 0 }

// limit is how many messages the answer to a read may have.
func (a answerer) limit(q *turn.Read) int {
	if most := a.ReadMessages(); q.Limit <= 0 || q.Limit > most {
		return most
	}
	return q.Limit
}

// readBudget is read under a budget, which keeps tool calls and results together.
func (a answerer) readBudget(q *turn.Read, newest bool, walk func(func(*layout.Record) bool) error,
	r *turn.Result) (err error) {
	next, stop := iter.Pull(func(yield func(turn.Message) bool) { // on a stack of its own
		err = store.Guarded(func() error { return walk(func(rec *layout.Record) bool { return yield(rec.Message()) }) })
	})
	b := turn.Budget{Messages: a.limit(q), Bytes: int64(a.ReadBytes()), Tokens: q.MaxTokens,
		Size: int64(a.AnswerBytes())}
	if q.MaxBytes > 0 {
		b.Bytes = min(b.Bytes, q.MaxBytes)
	}
	r.Messages, r.More = b.Take(newest, next)
	stop()
	return err
}

// gather takes records until there are enough of them or of their bytes, but
// one at least.
type gather struct {
	limit   int
	space   space
	records []layout.Record
	cut     bool
}

// space is what messages may yet take in an answer.
type space struct{ payload, size int }

func (a answerer) space() space { return space{a.ReadBytes(), a.AnswerBytes()} }

// take takes a message, and reports whether it fits.
func (m *space) take(r *layout.Record) bool {
	m.payload -= len(r.Data)
	m.size -= turn.ItemBytes + len(r.ID) + len(r.Data)
	return m.payload >= 0 && m.size >= 0
}

func (g *gather) take(r *layout.Record) bool {
	if fits := g.space.take(r); !fits && len(g.records) > 0 || len(g.records) == g.limit {
		g.cut = true
		return false
	}
	g.records = append(g.records, *r)
	return true
}

// messages returns records as callers see them; borrowed payloads are copied,
// into one piece of memory.
func messages(rs []layout.Record) []turn.Message {
	borrowed := 0
	for i := range rs {
		if rs[i].Borrowed {
			borrowed += len(rs[i].Data)
		}
	}
	space := make([]byte, 0, borrowed)
	out := make([]turn.Message, len(rs))
	for i := range rs {
		r := &rs[i]
		data := r.Data
		if r.Borrowed {
			at := len(space)
			space = append(space, data...)
			data = space[at:len(space):len(space)]
		}
		out[i] = turn.Message{Seq: r.Seq, Time: r.Time, ID: r.ID, Data: data}
	}
	return out
}
