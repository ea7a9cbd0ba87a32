package command

import (
	"context"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// Action is what a handler makes of a request: what the connection is to do. It is one of
// the types of this file: Reply, Error, Last, Gate, *Write, *Read, *Work, *Wait, *Publish and
// *Follow.
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
	Answer func([]Outcome) (Reply, error)
	Bulky  bool // the reply can be very long
}

// Work asks the engine whatever Run does. It cannot be part of a transaction.
type Work struct {
	Run func(ctx context.Context) (Reply, error)
	// Keys are those that Run concerns, if it only reads. Without any, it is performed
	// alone, as a Read is.
	Keys  []turn.Key
	Bulky bool // the reply can be very long
	// Linearizable: Run reads keys linearizably, so that it begins when no earlier write of the
	// connection can take place any more.
	Linearizable bool
}

// Wait is Work, performed alone, that may wait for what other clients do. Run ends when
// conn.gone does.
type Wait struct {
	Run          func(ctx context.Context) (Reply, error)
	Linearizable bool // see Work
}

// Publish hands a message to its subscribers and answers with their number.
type Publish struct {
	Namespace, Channel string
	Payload            []byte
}

// Follow pushes what is appended to a session, from a place on, until that is ended.
type Follow struct {
	Read        turn.Read    // what is asked for one push; Seq is the place
	Incarnation uint64       // of the session as the client knows it; 0: none
	Refused     func() Error // whether the user may not read it any more
}

func (Reply) mayWrite() bool    { return false }
func (Error) mayWrite() bool    { return false }
func (Gate) mayWrite() bool     { return false }
func (*Read) mayWrite() bool    { return false }
func (*Write) mayWrite() bool   { return true }
func (*Work) mayWrite() bool    { return true }
func (*Wait) mayWrite() bool    { return true }
func (*Publish) mayWrite() bool { return true }
func (*Follow) mayWrite() bool  { return false }

// MayWrite reports whether performing an action may change something, for all that is known.
func MayWrite(a Action) bool { return a.mayWrite() }

// Outcome is the outcome of one query, or of one step of a transaction.
type Outcome struct {
	turn.Result
	Err error
}

// Status replies with a status line, as OK.
func Status(s string) Reply { return func(w *resp.Writer) { w.Status(s) } }

// Integer replies with a number.
func Integer(n int64) Reply { return func(w *resp.Writer) { w.Int(n) } }

// Count replies with a number of things.
func Count(n uint64) Reply { return Integer(int64(n)) }

// Text replies with a string.
func Text(s string) Reply { return func(w *resp.Writer) { w.BulkString(s) } }

// Null replies that there is no value.
func Null() Reply { return (*resp.Writer).Null }

// NullArray replies that there is no array.
func NullArray() Reply { return (*resp.Writer).NullArray }

// WriteNames writes an array of texts.
func WriteNames(w *resp.Writer, names []string) {
	w.Array(len(names))
	for _, n := range names {
		w.BulkString(n)
	}
}

func counted(w *resp.Writer, n uint64) { w.Int(int64(n)) }

func sayRemoved(w *resp.Writer, r turn.Result) { counted(w, r.Removed) }

func sayOK(w *resp.Writer, _ turn.Result) { w.Status("OK") }

func sayNumber(w *resp.Writer, r turn.Result) { w.Int(r.Number) }

// write submits op, which concerns one key.
func write(k turn.Key, op turn.Op, done func(*resp.Writer, turn.Result)) *Write {
	return &Write{Op: op, Done: done, Keys: []turn.Key{k}}
}

// read asks q about one key, and answers with what answer makes of it.
func (req *Request) read(k turn.Key, q turn.Query, answer func(turn.Result) (Reply, error)) *Read {
	return &Read{Keys: []turn.Key{k}, Queries: []turn.Query{q}, Answer: func(os []Outcome) (Reply, error) {
		if os[0].Err != nil {
			return nil, os[0].Err
		}
		return answer(os[0].Result)
	}}
}

// readEach asks one thing about each key, and answers with all outcomes.
func (req *Request) readEach(names [][]byte, query func(turn.Key) turn.Query,
	answer func([]Outcome) (Reply, error)) *Read {
	a := &Read{Answer: answer}
	for _, name := range names {
		k := req.key(name)
		a.Keys = append(a.Keys, k)
		a.Queries = append(a.Queries, query(k))
	}
	return a
}

// Alone runs work while nothing else of the connection is in flight.
func Alone(run func(ctx context.Context) (Reply, error)) *Work { return &Work{Run: run} }

// AloneLinearizable is Alone for what reads keys linearizably.
func AloneLinearizable(run func(ctx context.Context) (Reply, error)) *Work {
	return &Work{Run: run, Linearizable: true}
}
