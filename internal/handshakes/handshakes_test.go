package handshakes

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// slow begins a handshake that lasts until its connection is closed.
func slow(t *testing.T, l *Limit) (closed <-chan time.Time) {
	ours, theirs := net.Pipe()
	leave, err := l.Enter(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	at := make(chan time.Time, 1)
	go func() {
		defer leave()
		defer theirs.Close()
		_, _ = io.Copy(io.Discard, ours)
		at <- time.Now()
	}()
	return at
}

// TestSlowHandshakesGiveWay: one that has had its time gives way to one that waits, the
// oldest first, and none before.
func TestSlowHandshakesGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(2)
		start := time.Now()
		first := slow(t, l)
		time.Sleep(enough / 2)
		second := slow(t, l)
		time.Sleep(10 * enough) // no other waits
		if len(first)+len(second) > 0 {
			t.Fatal("one gave way although there was room for all")
		}
		conn, _ := net.Pipe()
		leave, err := l.Enter(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		<-first
		if len(second) > 0 {
			t.Error("two gave way to one")
		}
		leave()
		third, fourth := slow(t, l), slow(t, l)
		<-second
		if began := time.Since(start); began > 11*enough {
			t.Errorf("they waited until %v", began)
		}
		waiting, stop := context.WithTimeout(t.Context(), enough/2)
		defer stop()
		if _, err := l.Enter(waiting, conn); !errors.Is(err, context.DeadlineExceeded) || len(third)+len(fourth) > 0 {
			t.Errorf("before their time is over: %v; %d gave way", err, len(third)+len(fourth))
		}
		for range 2 { // the others end
			if _, err := l.Enter(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
		}
		<-third
		<-fourth
	})
}

// TestHandshakesWaitForEachOther: of many that begin at once and are quick, none is ended.
func TestHandshakesWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(3)
		done := make(chan error, 100)
		most := make(chan int, 100)
		for range cap(done) {
			go func() {
				ours, theirs := net.Pipe()
				leave, err := l.Enter(t.Context(), ours)
				if err == nil {
					most <- l.Count()
					time.Sleep(enough / 2)
					leave()
				}
				go theirs.Write([]byte{1}) // ours is still open
				if _, failed := ours.Read(make([]byte, 1)); err == nil {
					err = failed
				}
				done <- err
			}()
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if n := <-most; n < 1 || n > 3 {
				t.Fatalf("%d at a time", n)
			}
		}
	})
}

// TestQueueIsInOrder: those that wait for a place have their turn as they came, however
// often others look for one.
func TestQueueIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1)
		conn, _ := net.Pipe()
		leave, err := l.Enter(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		order := make(chan int, 100)
		for i := range cap(order) {
			go func() {
				if leave, err := l.Enter(t.Context(), conn); err == nil {
					order <- i
					leave()
				}
			}()
			time.Sleep(time.Millisecond) // it is in the queue
		}
		leave()
		for want := range cap(order) {
			if got := <-order; got != want {
				t.Fatalf("%d has its turn in place of %d", got, want)
			}
		}
	})
}

// TestSlowClientsDelayNoOthers: clients that send nothing give way as soon as others
// wait, but not those whose handshakes have taken as long because of the server.
func TestSlowClientsDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Max)
		ours, theirs := net.Pipe()
		busy := Track(ours)
		leave, err := l.Enter(t.Context(), busy)
		if err != nil {
			t.Fatal(err)
		}
		const many = 4 * Max
		gone := make(chan struct{}, many)
		var slow []net.Conn
		for range many {
			ours, _ := net.Pipe()
			conn := Track(ours)
			slow = append(slow, conn)
			go func() {
				leave, err := l.Enter(t.Context(), conn)
				if err == nil {
					_, _ = conn.Read(make([]byte, 1))
					leave()
				}
				gone <- struct{}{}
			}()
		}
		time.Sleep(time.Microsecond) // they are in the queue
		began := time.Now()
		user, err := l.Enter(t.Context(), busy)
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > 5*(enough+again) {
			t.Errorf("%d slow clients have another wait for %v", many, waited)
		}
		user()
		go theirs.Write([]byte{1})
		if _, err := busy.Read(make([]byte, 1)); err != nil {
			t.Errorf("a client that was not slow gave way: %v", err)
		}
		leave()
		for _, c := range slow { // those that no other waits for have not given way
			c.Close()
		}
		for range many {
			<-gone
		}
		if n := l.Count(); n != 0 {
			t.Errorf("%d places are taken", n)
		}
	})
}
