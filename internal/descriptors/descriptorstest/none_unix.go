//go:build unix

// Package descriptorstest takes all file descriptors from a test's process, to show what works without any.
package descriptorstest

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// None leaves the process no file descriptor for a time, of a synctest bubble if the caller is in
// one. No other test may run meanwhile.
func None(t testing.TB, d time.Duration) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0 // not the lowest that is free: a lower one may be closed at any time
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(os.DevNull); err == nil {
		_ = f.Close()
		t.Error("there still is a descriptor")
	}
	go func() {
		time.Sleep(d)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	}()
}
