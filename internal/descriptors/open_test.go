package descriptors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Open retries while there is no descriptor, until its deadline, and for no other reason.
func TestOpenRetriesForADescriptor(t *testing.T) {
	missing := func(e error) error { return fmt.Errorf("open: %w", &fs.PathError{Op: "open", Path: "f", Err: e}) }
	for name, c := range map[string]struct {
		err  error
		free time.Duration // when there is a descriptor
		want error
		took time.Duration
	}{
		"free at once":   {missing(syscall.EMFILE), 0, nil, 0},
		"free soon":      {missing(syscall.EMFILE), time.Second, nil, time.Second},
		"system's":       {missing(syscall.ENFILE), time.Second, nil, time.Second},
		"never free":     {missing(syscall.EMFILE), time.Hour, syscall.EMFILE, openDeadline + openRetry},
		"another reason": {missing(syscall.ENOSPC), time.Hour, syscall.ENOSPC, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				f, err := Open(func() (*os.File, error) {
					if time.Since(began) < c.free {
						return nil, c.err
					}
					return os.Stdin, nil
				})
				if !errors.Is(err, c.want) || (f != nil) != (c.want == nil) {
					t.Errorf("opened %v: %v, want %v", f, err, c.want)
				}
				if took := time.Since(began); took < c.took || took > c.took+openRetry {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}
