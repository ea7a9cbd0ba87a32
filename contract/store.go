package contract

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Store is a handle on the memory store under test, such as an agent service holds in one of its
// processes. Every method may be called by several goroutines at once, and must return soon after its
// context has ended.
type Store interface {
	// Add saves the messages of one turn at the end of the session, all of them
	// or none, next to each other. When it returns nil they are saved: every
	// handle sees them, and they survive whatever the store promises to survive.
	Add(ctx context.Context, session string, turn ...Message) error
	// Load returns all messages of the session, oldest first. A session that was never written, or was
	// cleared, has none, which is no error. A Load that could not read the session returns an error,
	// never an empty history.
	Load(ctx context.Context, session string) ([]Message, error)
	// Clear removes all messages of the session.
	Clear(ctx context.Context, session string) error
	// Close ends the handle, and keeps what is stored.
	Close() error
}

// The optional interfaces of a Store.

// Deleter removes a session, as if it had never existed.
type Deleter interface {
	Delete(ctx context.Context, session string) error
}

// Trimmer removes all but the keep newest messages.
type Trimmer interface {
	Trim(ctx context.Context, session string, keep int) error
}

// LastLoader returns the n newest messages, oldest first.
type LastLoader interface {
	LoadLast(ctx context.Context, session string, n int) ([]Message, error)
}

// Popper removes and returns the newest message; ok is false if there is none.
type Popper interface {
	Pop(ctx context.Context, session string) (m Message, ok bool, err error)
}

// Lister returns the keys of all sessions that hold messages and whose key begins
// with prefix, in any order.
type Lister interface {
	Sessions(ctx context.Context, prefix string) ([]string, error)
}

// Expirer adds a turn as Add does. The session with all its messages expires ttl from now, unless a
// later AddTTL changes that time.
type Expirer interface {
	AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...Message) error
}

// Conditional lets a caller that has read a session append only if it was not changed since.
type Conditional interface {
	// LoadVersion is Load, and also returns what identifies this state of the session.
	LoadVersion(ctx context.Context, session string) ([]Message, string, error)
	// AddIf is Add, if the session is still in the state of that version. Otherwise, it changes nothing
	// and returns ErrConflict.
	AddIf(ctx context.Context, session, version string, turn ...Message) error
}

// AsyncAdder begins an Add and returns at once. The channel, of capacity 1, receives the outcome; until
// then, nothing is promised.
type AsyncAdder interface {
	AddAsync(ctx context.Context, session string, turn ...Message) <-chan error
}

// AsyncLoader begins a Load and returns at once. The channel, of capacity 1, receives what was loaded.
type AsyncLoader interface {
	LoadAsync(ctx context.Context, session string) <-chan Loaded
}

// Loaded is the result of a Load.
type Loaded struct {
	Messages []Message
	Err      error
}

// AsyncClearer begins a Clear and returns at once. The channel, of capacity 1, receives the outcome;
// until then, nothing is promised.
type AsyncClearer interface {
	ClearAsync(ctx context.Context, session string) <-chan error
}

// Corrupter makes one message of a session that has several unreadable, without the store's knowledge,
// as a program of another version or a damaged disk might.
type Corrupter interface {
	Corrupt(ctx context.Context, session string) error
}

// Namespacer returns a handle on a keyspace of its own, in which the same session
// keys name other sessions. Closing that handle leaves this one open.
type Namespacer interface {
	Namespace(ctx context.Context, name string) (Store, error)
}

// Selective is implemented by a Store that may not support an optional interface although its type has
// the methods, such as a proxy for other stores.
type Selective interface {
	Supports(Capability) bool
}

// What an error of a Store may wrap. An error that wraps none of them is a failure
// of the store or of the way to it, after which a change may or may not have taken
// place.
var (
	// ErrConflict: a condition does not hold, or a message id was used before for
	// something else. Nothing was changed.
	ErrConflict = errors.New("conflict")
	// ErrRefused: the store cannot hold such a message or such a key. Nothing was
	// changed.
	ErrRefused = errors.New("refused")
	// ErrNotApplied: the store failed, and nothing was changed.
	ErrNotApplied = errors.New("not applied")
)

// Refusef returns an ErrRefused.
func Refusef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// Goroutine makes an AsyncAdder out of any Store's Add.
func Goroutine(ctx context.Context, s Store, session string, turn ...Message) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Add(ctx, session, turn...) }()
	return done
}

// GoroutineLoad makes an AsyncLoader out of any Store's Load.
func GoroutineLoad(ctx context.Context, s Store, session string) <-chan Loaded {
	done := make(chan Loaded, 1)
	go func() {
		ms, err := s.Load(ctx, session)
		done <- Loaded{ms, err}
	}()
	return done
}

// GoroutineClear makes an AsyncClearer out of any Store's Clear.
func GoroutineClear(ctx context.Context, s Store, session string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Clear(ctx, session) }()
	return done
}
