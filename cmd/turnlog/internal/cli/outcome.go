package cli

import (
	"errors"
	"fmt"

	"github.com/turnlog/turnlog/turn"
)

// partial is the error of a command of which a part took place.
type partial struct {
	err  error
	done string // what took place, as a sentence
}

func (e partial) Error() string { return e.err.Error() }
func (e partial) Unwrap() error { return e.err }

// Partly says what took place before err.
func Partly(err error, format string, args ...any) error {
	return partial{err, fmt.Sprintf(format, args...)}
}

// advised is an error with advice of its own, instead of that on its kind.
type advised struct {
	err    error
	advice string
}

func (e advised) Error() string { return e.err.Error() }
func (e advised) Unwrap() error { return e.err }

// Advise gives err advice of its own.
func Advise(err error, advice string) error { return advised{err, advice} }

// Unchanged is an error that says itself what to do, when nothing was changed.
func Unchanged(err error) error { return advised{err, unchanged} }

// incomplete is the error of a comparison that did not come to an end: nothing was
// found to differ, and nothing is known to be the same.
type incomplete struct{ err error }

func (e incomplete) Error() string { return "not compared: " + e.err.Error() }
func (e incomplete) Unwrap() error { return e.err }

// NotCompared says that err kept a comparison from its end.
func NotCompared(err error) error { return incomplete{err} }

// ErrTold ends a command with 1 that has said itself what is wrong.
var ErrTold = errors.New("see above")

// outcome is what a program is told about what a command wrote.
func outcome(err error) string {
	if errors.As(err, new(partial)) {
		return "partly"
	}
	if IsUsage(err) || errors.As(err, new(incomplete)) {
		return "not_applied"
	}
	if e := (*turn.Error)(nil); errors.As(err, &e) {
		return e.Outcome()
	}
	return "unknown"
}
