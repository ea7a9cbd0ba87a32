package redis

import (
	"context"

	"github.com/turnlog/turnlog/resp"
	"github.com/turnlog/turnlog/turn"
)

// reply writes the whole reply to one request. It runs later, when those to all
// earlier requests are written.
type reply func(*resp.Writer)

// action is what a handler makes of a request. Exactly one of say, fail, op and
// work is set.
type action struct {
	say  reply      // answer so, at once
	fail replyError // answer with an error, at once

	op   turn.Op                                  // submit this write …
	done func(w *resp.Writer, result turn.Result) // … and answer its success so

	work func(ctx context.Context) (reply, error) // ask the engine this, then answer so
	// keys are the keys that work concerns, if it reads and does nothing else; or
	// that op writes. Without keys, the action waits for everything before it and
	// keeps everything after it waiting.
	keys  []turn.Key
	bulky bool // work can return a very long reply

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
	return action{keys: []turn.Key{k}, work: func(ctx context.Context) (reply, error) {
		r, err := c.srv.engine.Query(ctx, q, linearizable)
		if err != nil {
			return nil, err
		}
		return answer(r)
	}}
}

// alone runs work while nothing else of the connection is under way.
func alone(work func(ctx context.Context) (reply, error)) action { return action{work: work} }
