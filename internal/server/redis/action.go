package redis

import (
	"context"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// Action is what a handler makes of a request: what the connection is to do. It is one of
// the types of this file: Reply, Error, Last, Gate, *Write, *Read, *Work, *Wait and *Publish.
type Action interface {
	// mayWrite reports whether performing it may change something, for all that is known.
	mayWrite() bool
}

// Reply answers at once. It writes the whole reply to one request, when those to all
// earlier requests are written.
type Reply func(*resp.Writer)

// Error answers at once with an error, of which it is the whole text, code first.
type Error string

func (e Error) Error() string { return string(e) }

// Last answers at once and closes the connection after that.
type Last struct{ Reply }

// Gate answers with the next gate among the messages that are pushed to the connection.
type Gate struct{}

// Write submits an operation.
type Write struct {
	Op turn.Op
	// Keys are those that Op writes. Without any, nothing waits for it.
	Keys []turn.Key
	Done func(w *resp.Writer, result turn.Result) // answers its success
}

// Read asks queries, one after another.
type Read struct {
	Queries []turn.Query
	// Keys are those that Queries concern. Without any, the read is performed alone: after
	// everything before it, and everything behind it waits for it.
	Keys   []turn.Key
	Answer func([]outcome) (Reply, error)
	Bulky  bool // the reply can be very long
}

// Work asks the engine whatever Run does. It cannot be part of a transaction.
type Work struct {
	Run func(ctx context.Context) (Reply, error)
	// Keys are those that Run concerns, if it only reads. Without any, it is performed
	// alone, as a Read is.
	Keys  []turn.Key
	Bulky bool // the reply can be very long
}

// Wait is Work, performed alone, that may wait for what other clients do. Run ends when
// conn.gone does.
type Wait struct {
	Run func(ctx context.Context) (Reply, error)
}

// Publish hands a message to its subscribers and answers with their number.
type Publish struct{ message }

func (Reply) mayWrite() bool    { return false }
func (Error) mayWrite() bool    { return false }
func (Gate) mayWrite() bool     { return false }
func (*Read) mayWrite() bool    { return false }
func (*Write) mayWrite() bool   { return true }
func (*Work) mayWrite() bool    { return true }
func (*Wait) mayWrite() bool    { return true }
func (*Publish) mayWrite() bool { return true }

// outcome is the outcome of one query, or of one step of a transaction.
type outcome struct {
	turn.Result
	err error
}

func status(s string) Reply            { return func(w *resp.Writer) { w.Status(s) } }
func integer(n int64) Reply            { return func(w *resp.Writer) { w.Int(n) } }
func count(n uint64) Reply             { return integer(int64(n)) }
func text(s string) Reply              { return func(w *resp.Writer) { w.BulkString(s) } }
func null() Reply                      { return (*resp.Writer).Null }
func nullArray() Reply                 { return (*resp.Writer).NullArray }
func counted(w *resp.Writer, n uint64) { w.Int(int64(n)) }

// write submits op, which concerns one key.
func write(k turn.Key, op turn.Op, done func(*resp.Writer, turn.Result)) *Write {
	return &Write{Op: op, Done: done, Keys: []turn.Key{k}}
}

// read asks q about one key, and answers with what answer makes of it.
func (c *conn) read(k turn.Key, q turn.Query, answer func(turn.Result) (Reply, error)) *Read {
	return &Read{Keys: []turn.Key{k}, Queries: []turn.Query{q}, Answer: func(os []outcome) (Reply, error) {
		if os[0].err != nil {
			return nil, os[0].err
		}
		return answer(os[0].Result)
	}}
}

// readEach asks one thing about each key, and answers with all outcomes.
func (c *conn) readEach(names [][]byte, query func(turn.Key) turn.Query, answer func([]outcome) (Reply, error)) *Read {
	a := &Read{Answer: answer}
	for _, name := range names {
		k := c.key(name)
		a.Keys = append(a.Keys, k)
		a.Queries = append(a.Queries, query(k))
	}
	return a
}

// alone runs work while nothing else of the connection is in flight.
func alone(run func(ctx context.Context) (Reply, error)) *Work { return &Work{Run: run} }
