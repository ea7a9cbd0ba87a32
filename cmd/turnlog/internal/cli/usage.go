package cli

import (
	"errors"
	"fmt"
)

// usageError is a command line or an input that makes no sense.
type usageError struct {
	err     error
	command string // whose help to point at; may be empty
}

func (e usageError) Error() string { return e.err.Error() }

func (e usageError) Unwrap() error { return e.err }

// Usage is err as a usage error.
func Usage(err error) error { return usageError{err: err} }

// IsUsage reports whether err is a usage error: nothing was done.
func IsUsage(err error) bool { return errors.As(err, new(usageError)) }

// Usagef returns a usage error.
func Usagef(format string, args ...any) error {
	return usageError{err: fmt.Errorf(format, args...)}
}
