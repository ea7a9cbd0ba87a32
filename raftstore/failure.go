package raftstore

import (
	"log/slog"
	"runtime"
	"sync"
)

// failure is why a node must stop at once, if it must.
type failure struct {
	once  sync.Once
	known chan struct{} // closed by fail
	why   error         // read it only after known is closed
}

func newFailure() failure { return failure{known: make(chan struct{})} }

// set notes the first error.
func (f *failure) set(why error, log *slog.Logger) {
	f.once.Do(func() {
		f.why = beyondRepair(why)
		log.Error("the node stops", "error", f.why)
		close(f.known)
	})
}

// reason returns why the node failed, nil if it did not.
func (f *failure) reason() error {
	select {
	case <-f.known:
		return f.why
	default:
		return nil
	}
}

// fail makes Run stop the node at once and return err. The first error counts.
func (n *Node) fail(err error) { n.failure.set(err, n.log) }

// halt is fail for goroutines of Raft that must not go on: what they believe to
// be on disk is not. It does not return.
func (n *Node) halt(err error) {
	n.fail(err)
	runtime.Goexit()
}

// reason returns why the node failed, nil if it did not.
func (n *Node) reason() error { return n.failure.reason() }
