package redis

import (
	"context"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// reply writes the whole reply to one request. It runs later, when those to all
// earlier requests are written.
type reply func(*resp.Writer)

// outcome is what became of one query, or of one step of a transaction.
type outcome struct {
	turn.Result
	err error
}

// action is what a handler makes of a request. Exactly one of say, fail, op,
// queries, work, publish and gate is set.
type action struct {
	say  reply      // answer so, at once
	fail replyError // answer with an error, at once

	op   turn.Op                                  // submit this write …
	done func(w *resp.Writer, result turn.Result) // … and answer its success so

	queries []turn.Query                   // ask these, one after another …
	answer  func([]outcome) (reply, error) // … and answer so

	publish *message // publish this and answer with the number of receivers
	gate    bool     // the answer is the next gate among the connection's pushes

	work func(ctx context.Context) (reply, error) // ask the engine this, then answer so; not in a transaction
	// keys are the keys that queries or work concern, if they read and do nothing
	// else; or that op writes. Without keys, the action waits for everything before it and
	// keeps everything after it waiting.
	keys  []turn.Key
	bulky bool // work can return a very long reply
	// blocks: work may wait for what others do. It ends when conn.gone does.
	blocks bool

	last bool // close the connection after the answer
}

func say(r reply) action               { return action{say: r} }
func status(s string) action           { return say(func(w *resp.Writer) { w.Status(s) }) }
func integer(n int64) action           { return say(func(w *resp.Writer) { w.Int(n) }) }
func text(s string) action             { return say(func(w *resp.Writer) { w.BulkString(s) }) }
func null() action                     { return say((*resp.Writer).Null) }
func refuse(e replyError) action       { return action{fail: e} }
func sayInt(n uint64) reply            { return func(w *resp.Writer) { w.Int(int64(n)) } }
func sayStatus(s string) reply         { return func(w *resp.Writer) { w.Status(s) } }
func counted(w *resp.Writer, n uint64) { w.Int(int64(n)) }

// write submits op, which concerns one key.
func write(k turn.Key, op turn.Op, done func(*resp.Writer, turn.Result)) action {
	return action{op: op, done: done, keys: []turn.Key{k}}
}

// read asks q about one key, and answers with what answer makes of it.
func (c *conn) read(k turn.Key, q turn.Query, answer func(turn.Result) (reply, error)) action {
	return action{keys: []turn.Key{k}, queries: []turn.Query{q}, answer: func(os []outcome) (reply, error) {
		if os[0].err != nil {
			return nil, os[0].err
		}
		return answer(os[0].Result)
	}}
}

// readEach asks about each key one thing, and answers with what became of all.
func (c *conn) readEach(names [][]byte, query func(turn.Key) turn.Query, answer func([]outcome) (reply, error)) action {
	a := action{answer: answer}
	for _, name := range names {
		k := c.key(name)
		a.keys = append(a.keys, k)
		a.queries = append(a.queries, query(k))
	}
	return a
}

// ask does the queries of a, each from a state that comprises those before it.
// That a key holds another type is for the answer to deal with; other errors
// are final.
func (s *Server) ask(ctx context.Context, a *action) (_ reply, seen states, _ error) {
	var one [1]outcome
	os := one[:0]
	index, left := uint64(0), s.engine.Limits().ReadBytes
	for _, q := range a.queries {
		r, err := s.since(ctx, index, q)
		if err != nil && turn.KindOf(err) != turn.WrongType {
			return nil, states{}, err
		}
		if seen = seen.with(r.Index); err != nil { // which does not tell of what state
			seen = unknownStates
		}
		if left -= size(&r); left < 0 && len(os) > 0 {
			return nil, seen, s.tooLong()
		}
		os = append(os, outcome{r, err})
		index = max(index, r.Index)
	}
	r, err := a.answer(os)
	return r, seen, err
}

// size is how many bytes of values an answer has that is one of several.
func size(r *turn.Result) int {
	n := len(r.Value)
	for i := range r.Entries {
		for _, f := range r.Entries[i].Fields {
			n += len(f.Name) + len(f.Value)
		}
	}
	return n
}

// tooLong is the error of a request whose answers are too long together.
func (s *Server) tooLong() error {
	return turn.Errorf(turn.TooLarge, "the answer would have more than %d bytes; ask for fewer keys, or for parts", s.engine.Limits().ReadBytes)
}

// alone runs work while nothing else of the connection is under way.
func alone(work func(ctx context.Context) (reply, error)) action { return action{work: work} }

// blocking is alone for work that may wait for what others do.
func blocking(work func(ctx context.Context) (reply, error)) action {
	return action{work: work, blocks: true}
}
