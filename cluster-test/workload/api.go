package workload

import (
	"context"
	"fmt"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// API calls one node over one of its interfaces. Only one worker uses it.
type API interface {
	// Do makes one call. Its error is, or wraps, a *turn.Error: with kind
	// Unknown if the call may have taken place.
	Do(ctx context.Context, key turn.Key, c *history.Call) (history.Result, error)
	// Close ends its connections. The API may be used again.
	Close()
}

// The APIs, as histories name them.
const (
	HTTP   = "http"
	Native = "native" // the Go client, one attempt for each call
	Client = "client" // the Go client as applications use it: it retries, and finds the leader
	RESP   = "resp"   // plain Redis list commands
	TX     = "tx"     // Redis transactions: MULTI … EXEC
	WHOLE  = "whole"  // turnlog transactions: turn.Tx
	VALUES = "values" // any Redis command on one key
	MOVES  = "moves"  // turnlog transactions over three sessions, by the Go client

	MOVESHTTP = "moves-http" // the same over HTTP
)

// answered is an error that a node answered.
type answered struct{ err *turn.Error }

func (a *answered) Error() string { return a.err.Error() }
func (a *answered) Unwrap() error { return a.err }

func unsupported(api string, c *history.Call) error {
	return turn.Errorf(turn.Invalid, "the harness cannot ask for %s through API %s", c.Func, api)
}

// messages translates what a read returned, without the times.
func messages(ms []turn.Message) []history.Message { return timedMessages(ms, false) }

func timedMessages(ms []turn.Message, timed bool) []history.Message {
	out := make([]history.Message, len(ms))
	for i, m := range ms {
		out[i] = history.Message{Seq: m.Seq, Value: checkedToken(m.ID, m.Data)}
		if timed {
			out[i].Time = m.Time
		}
	}
	return out
}

// checkedToken is token, and also requires an id, if there is one, to be the
// one that the message was sent with. The Go client mints ids of its own for
// messages that have none.
func checkedToken(id string, data []byte) string {
	t := token(data)
	if id != "" && id != t && len(id) != mintedID {
		return fmt.Sprintf("message %s under the id %.80q", t, id)
	}
	return t
}

const mintedID = 32 // hexadecimal digits of 128 bits
