package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/turnlog/turnlog/contract"
)

// Line is a breakable way between handles and a Server, without a network.
type Line struct {
	server *Server

	mu    sync.Mutex
	fault contract.Fault
	on    bool
	hits  int
}

// Line returns a way to s that can be broken.
func (s *Server) Line() *Line { return &Line{server: s} }

func (l *Line) Open(context.Context) (contract.Store, error) { return l.Handle(), nil }

// Handle is Open.
func (l *Line) Handle() *Handle { return &Handle{server: l.server, line: l} }

func (l *Line) Answers() []string { return []string{"OOM", "LOADING"} }

func (l *Line) Break(f contract.Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.on, l.hits = f, true, 0
}

func (l *Line) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = false
}

func (l *Line) Hits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hits
}

func (l *Line) Close() error { return nil }

// next returns the fault that the next request meets.
func (l *Line) next() (contract.Fault, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.on || l.fault.Times > 0 && l.hits >= l.fault.Times {
		return contract.Fault{}, false
	}
	if l.fault.Skip > 0 {
		l.fault.Skip--
		return contract.Fault{}, false
	}
	l.hits++
	return l.fault, true
}

var errCut = errors.New("connection reset by peer")

// pass carries out f, unless something comes in between. A nil Line is a healthy
// one.
func (l *Line) pass(ctx context.Context, f func()) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", contract.ErrNotApplied, err)
	}
	var fault contract.Fault
	broken := false
	if l != nil {
		fault, broken = l.next()
	}
	if !broken {
		f()
		return nil
	}
	switch fault.Break {
	case contract.CutBefore:
		return errCut
	case contract.CutAfter:
		f()
		return errCut
	case contract.Delay:
		f()
		<-ctx.Done()
		return ctx.Err()
	case contract.HalfOpen:
		<-ctx.Done()
		return ctx.Err()
	}
	return fmt.Errorf("%w: the server answers %s", contract.ErrNotApplied, fault.Answer)
}
