// Package handshakes bounds what clients cost that have not proved anything yet: the
// TLS handshakes that take place at one time.
package handshakes

import (
	"container/list"
	"context"
	"net"
	"sync"
	"time"
)

const (
	// Max is how many handshakes take place at one port at a time. Each can take up
	// some 200 KiB, by a first message of 64 KiB that does not end.
	Max = 256
	// enough is the time that a handshake has for itself. One that takes longer gives way
	// when others wait.
	enough = time.Second
	// again is how often a connection that waits looks for one that has had its time.
	again = 100 * time.Millisecond
)

// Limit lets a number of handshakes take place at a time. When many clients connect at
// once, they wait for each other; clients that are slow on purpose give way. Its methods
// may be called by any goroutine.
type Limit struct {
	places chan struct{}

	mu  sync.Mutex
	now list.List // of *handshake, oldest first
}

type handshake struct {
	conn  net.Conn
	began time.Time
}

// New returns a Limit for so many handshakes.
func New(max int) *Limit { return &Limit{places: make(chan struct{}, max)} }

// Enter waits until a handshake with conn may begin. The caller calls leave when it is
// over, whether it succeeded or not. If it takes long, conn may be closed meanwhile. The
// error is that of ctx.
func (l *Limit) Enter(ctx context.Context, conn net.Conn) (leave func(), err error) {
	for {
		select {
		case l.places <- struct{}{}:
			return l.begin(conn), nil
		default:
		}
		l.giveWay()
		retry := time.NewTimer(again)
		select {
		case l.places <- struct{}{}:
			retry.Stop()
			return l.begin(conn), nil
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return nil, ctx.Err()
		}
	}
}

func (l *Limit) begin(conn net.Conn) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.now.PushBack(&handshake{conn, time.Now()})
	return func() {
		l.mu.Lock()
		l.now.Remove(e) // if it did not give way
		l.mu.Unlock()
		<-l.places
	}
}

// giveWay closes the connection of the oldest handshake, if it has taken long enough.
func (l *Limit) giveWay() {
	l.mu.Lock()
	oldest := l.now.Front()
	if oldest == nil || time.Since(oldest.Value.(*handshake).began) < enough {
		l.mu.Unlock()
		return
	}
	h := l.now.Remove(oldest).(*handshake)
	l.mu.Unlock()
	_ = h.conn.Close()
}

// Count returns how many handshakes take place now.
func (l *Limit) Count() int { return len(l.places) }
