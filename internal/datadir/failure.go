package datadir

import (
	"log/slog"
	"runtime"
	"sync"
)

// Failure is why a node must stop at once, if it must. Any goroutine may call its methods.
type Failure struct {
	log   *slog.Logger
	once  sync.Once
	known chan struct{} // closed by Fail
	why   error         // read it only after known is closed
}

// NewFailure returns a Failure that has not come about.
func NewFailure(log *slog.Logger) *Failure { return &Failure{log: log, known: make(chan struct{})} }

// Fail has the node stop at once. The first error counts; what to do is added to it if it tells of damage.
func (f *Failure) Fail(why error) {
	f.once.Do(func() {
		f.why = beyondRepair(why)
		f.log.Error("the node stops", "error", f.why)
		close(f.known)
	})
}

// Halt is Fail for goroutines of Raft that must not go on: what they believe to
// be on disk is not. It does not return.
func (f *Failure) Halt(why error) {
	f.Fail(why)
	runtime.Goexit()
}

// Known is closed when there is a Reason.
func (f *Failure) Known() <-chan struct{} { return f.known }

// Reason returns why the node failed, nil if it did not.
func (f *Failure) Reason() error {
	select {
	case <-f.known:
		return f.why
	default:
		return nil
	}
}

// Aside runs work in a goroutine of its own, which Halt ends, and returns its error, or why it was ended.
func (f *Failure) Aside(work func() error) error {
	done := make(chan error, 1)
	go func() {
		defer close(done)
		done <- work()
	}()
	err, returned := <-done
	if !returned {
		return f.Reason()
	}
	return err
}
