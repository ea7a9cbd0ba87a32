package descriptors

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// openDeadline is how long Open retries while there is no descriptor. One becomes free when
// a client disconnects.
const openDeadline = 5 * time.Second

// openRetry is the pause between two tries.
const openRetry = 20 * time.Millisecond

// Open calls open, which opens one of the node's own files, and retries it for up to five
// seconds while the process or the system has no file descriptor left. A missing
// descriptor says nothing about the disk. Every other error is returned at once.
func Open(open func() (*os.File, error)) (*os.File, error) {
	return OpenWithin(openDeadline, open)
}

// OpenWithin is Open with another limit to how long it retries, for callers that hold up others.
func OpenWithin(limit time.Duration, open func() (*os.File, error)) (*os.File, error) {
	for end := time.Now().Add(limit); ; time.Sleep(openRetry) {
		f, err := open()
		if err == nil || !Missing(err) || time.Now().After(end) {
			return f, err
		}
	}
}

// ReadFile returns the content of a file, which it opens as Open does.
func ReadFile(name string) ([]byte, error) {
	f, err := Open(func() (*os.File, error) { return os.Open(name) })
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Missing reports whether err says that no file was opened for want of a descriptor, of the
// process or of the system.
func Missing(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
