package node

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
)

// A connection within the process is one whose other end is accepted, and nothing is left of one that is not.
func TestConnectionsWithinTheProcess(t *testing.T) {
	l := newLocalListener()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	ours, err := l.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirs := <-accepted
	defer theirs.Close()
	for from, to := range map[net.Conn]net.Conn{ours: theirs, theirs: ours} {
		if _, err := from.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(to, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the other end of a connection that was closed reads %v", err)
	}
	open := descriptorsOpen(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := l.dial(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a dial that is given up: %v, %v", c, err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if c, err := l.dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a dial after the end: %v, %v", c, err)
	}
	if c, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection is accepted after the end: %v, %v", c, err)
	}
	if now := descriptorsOpen(t); now != open {
		t.Errorf("%d descriptors are open, %d were", now, open)
	}
}

func descriptorsOpen(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(all)
}
