package store

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// storeFault is what reading a damaged store ended in. bbolt trusts what it reads: it
// panics, or reads where the mapped file has no bytes.
type storeFault struct{ error }

func (e storeFault) Unwrap() error { return e.error }

// Guarded calls f, which reads the store, and makes an error of what damage to that ends
// it with. A panic of another origin goes on.
func Guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if !ofStore(p) {
				panic(p)
			}
			err = storeFault{turn.Errorf(turn.Corrupt, "%s is damaged: %v", storeName, p)}
		}
	}()
	return f()
}

// rooted returns an error if the store's file ends before its two roots do, which lie on its
// first pages. A transaction begins there, and holds locks: a fault in that cannot be made
// an error any more.
func (s *Store) rooted() error {
	info, err := s.dbFile.Load().Stat()
	if err != nil {
		return err
	}
	if least := 2 * int64(os.Getpagesize()); info.Size() < least {
		return turn.Errorf(turn.Corrupt, "%s is damaged: it has %d bytes, its roots take %d", storeName,
			info.Size(), least)
	}
	return nil
}

// ofStore reports whether the current panic comes from a damaged store: from bbolt, or from
// an access to a mapped file behind its end, after the file was truncated. While bbolt
// begins a transaction it holds locks, and the process cannot continue.
func ofStore(p any) bool {
	_, address := p.(interface{ Addr() uintptr })
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	panicked, first := false, ""
	for {
		frame, more := frames.Next()
		name := frame.Function
		switch {
		case name == "runtime.gopanic":
			panicked, first = true, ""
		case strings.HasSuffix(name, ".beginTx"), strings.HasSuffix(name, ".beginRWTx"):
			return false
		case panicked && first == "" && !strings.HasPrefix(name, "runtime."):
			first = name
		}
		if !more {
			return address || strings.HasPrefix(first, "go.etcd.io/bbolt")
		}
	}
}
