package command

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/turn"
)

// Request is what a handler is told of a request, beside its words. It does not change.
type Request struct {
	Command   *Command
	Namespace string
	User      *auth.User // as whom it was authorised; nil: there are no users, it may do anything
	Queued    bool       // it comes between MULTI and EXEC, so it must not wait
	Backend   *Backend
	Client    Client
}

// Client is the connection that a request came over. Unless it says otherwise, its methods
// are for handlers, and not for what their actions do later.
type Client interface {
	// Detach leaves the memory of the request's words to the handler.
	Detach()
	// Library is the name that the client's library has told of itself.
	Library() string
	// Permission returns a function that any goroutine may ask whether the client's user
	// may still make this request.
	Permission(cmd *Command, args [][]byte) func() Error

	// NoteWrite notes the log entry of a write that an action has submitted; LastWrite
	// returns the last one of the client. Any goroutine may call them.
	NoteWrite(index uint64)
	LastWrite() uint64

	Waiter
}

// Waiter is what the action of a request that waits needs of its connection. Any goroutine may
// call it.
type Waiter interface {
	// Gone ends when the wait must end: the client has disconnected, or is to be.
	Gone() context.Context
	// HasLeft reports whether the client is known to have disconnected.
	HasLeft() bool
	// WaitFor waits for a change, for the end of Gone, or until a time. If CLIENT UNBLOCK
	// ends the wait, it returns an error, or sets until to zero.
	WaitFor(changed <-chan struct{}, until *time.Time) error
	// WaitAtMost is WaitFor with a bound of its own.
	WaitAtMost(changed <-chan struct{}, d time.Duration, until *time.Time) error
	// Hold keeps the wait from being ended until Release, because something is being taken
	// for the request. It reports false if it has been ended.
	Hold() bool
	Release()
}

func (req *Request) key(name []byte) turn.Key {
	return turn.Key{Namespace: req.Namespace, Name: string(name)}
}

// do performs a write for an action that is performed alone.
func (req *Request) do(ctx context.Context, op turn.Op) (turn.Result, error) {
	r, err := req.Backend.engine.Submit(ctx, op).Wait()
	req.Client.NoteWrite(r.Index)
	return r, err
}

func (req *Request) keysOf(names [][]byte) []turn.Key {
	keys := make([]turn.Key, len(names))
	for i, name := range names {
		keys[i] = req.key(name)
	}
	return keys
}
