package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// ended returns after how long a read fails for its deadline.
func ended(t *testing.T, w *Wire) time.Duration {
	t.Helper()
	began := time.Now()
	if n, err := w.Input(func() {}).Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read returns %d bytes, %v", n, err)
	}
	return time.Since(began)
}

// A client may pause between requests for as long as it likes, and within one for ReadTimeout.
func TestPausesBetweenAndWithinRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client := newRig().pipe(t)
		w.Begin()
		if took := ended(t, w); took != readTime {
			t.Errorf("within a request, a read has %v, want %v", took, readTime)
		}
		w.Between()
		go func() {
			time.Sleep(24 * time.Hour)
			client.Write([]byte("x"))
		}()
		if n, err := w.Input(func() {}).Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("between requests, a read returns %d bytes, %v", n, err)
		}
		if got := w.shared.Received.Load(); got != 1 {
			t.Errorf("%d bytes are counted", got)
		}
	})
}

// A request that comes too slowly is cut off, however much of it came at first; one that keeps to the rate is not.
func TestSlowRequests(t *testing.T) {
	for name, test := range map[string]struct {
		first, each int
		lasts       bool
	}{
		"at the rate":              {1, 8 << 10, true},
		"a drip":                   {1, 1, false},
		"a drip, after much of it": {1 << 20, 1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, client := newRig().pipe(t)
			left := make(chan struct{})
			go func() {
				defer close(left)
				for n := test.first; ; n = test.each {
					if _, err := client.Write(make([]byte, n)); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
			w.Begin()
			began, p := time.Now(), make([]byte, 1<<20)
			var err error
			for err == nil && time.Since(began) < time.Minute {
				_, err = w.Input(func() {}).Read(p)
			}
			if took := time.Since(began); (err == nil) != test.lasts || err != nil && took > readTime+time.Second {
				t.Errorf("%s: it lasts %v, %v", name, took, err)
			}
			client.Close()
			<-left
		})
	}
}

// A client that has yet to authenticate has ReadTimeout for it, whether it sends requests or not.
func TestTimeToAuthenticate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client := newRig().pipe(t)
		w.SetUnauthenticated(true)
		time.Sleep(readTime - time.Second)
		w.Begin() // which gives it no more time
		if took := ended(t, w); took != time.Second {
			t.Errorf("a read has %v, want what is left: 1s", took)
		}
		w.Between()
		if took := ended(t, w); took != 0 {
			t.Errorf("when the time is over, a read has %v", took)
		}
		w.SetUnauthenticated(false)
		go func() {
			time.Sleep(time.Hour)
			client.Write([]byte("x"))
		}()
		if _, err := w.Input(func() {}).Read(make([]byte, 1)); err != nil {
			t.Errorf("a user has no time: %v", err)
		}
	})
}

// Replies are flushed before the wire waits for input, and not while some was kept.
func TestFlushedBeforeWaiting(t *testing.T) {
	w, client := newRig().sockets(t)
	w.kept.grew(copy(w.kept.room(), "kept"))
	flushed := 0
	in, p := w.Input(func() { flushed++ }), make([]byte, 16)
	if n, err := in.Read(p); string(p[:n]) != "kept" || err != nil || flushed != 0 || w.Kept() {
		t.Errorf("%q, %v; flushed %d times", p[:n], err, flushed)
	}
	send(t, client, "sent")
	if n, err := in.Read(p); string(p[:n]) != "sent" || err != nil || flushed != 1 {
		t.Errorf("%q, %v; flushed %d times", p[:n], err, flushed)
	}
}

// Stop lets what was received be read, and nothing after that; what blocks ends.
func TestStopReadsWhatWasReceived(t *testing.T) {
	w, client := newRig().sockets(t)
	send(t, client, "received")
	w.Stop()
	if !w.Stopping() || w.Gone().Err() == nil {
		t.Error("it does not stop")
	}
	w.stopBy = w.stopBy.Add(time.Hour) // for which it does not wait when there is nothing to read
	in, p := w.Input(func() {}), make([]byte, 5)
	for _, want := range []string{"recei", "ved"} {
		if n, err := in.Read(p); string(p[:n]) != want || err != nil {
			t.Fatalf("%q, %v; want %q", p[:n], err, want)
		}
	}
	if n, err := in.Read(p); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("behind what was received there are %d bytes, %v", n, err)
	}
}

// interrupted calls before once ahead of a read, when its deadline has been set.
type interrupted struct {
	net.Conn
	before func()
}

func (c *interrupted) NetConn() net.Conn { return c.Conn }

func (c *interrupted) Read(p []byte) (int, error) {
	if before := c.before; before != nil {
		c.before = nil
		before()
	}
	return c.Conn.Read(p)
}

// What was received is read although Stop comes when a read is about to look for it: closing the socket with it
// unread would take back the replies to what was read before.
func TestStopAmidARead(t *testing.T) {
	w, client := newRig().sockets(t)
	w.nc = &interrupted{w.nc, w.Stop}
	send(t, client, "received")
	p := make([]byte, 16)
	if n, err := w.Input(func() {}).Read(p); string(p[:n]) != "received" || err != nil {
		t.Errorf("%q, %v", p[:n], err)
	}
}

// With TLS, too: what the socket still has, and what was taken from it ahead of what has been read.
func TestStopReadsWhatWasReceivedOverTLS(t *testing.T) {
	w, client := newRig().tls(t)
	in, p := w.Input(func() {}), make([]byte, 16)
	send(t, client, "first")
	send(t, client, "second") // is taken from the socket with the first
	if n, err := in.Read(p); string(p[:n]) != "first" || err != nil {
		t.Fatalf("%q, %v", p[:n], err)
	}
	send(t, client, "third")
	w.Stop()
	for _, want := range []string{"second", "third"} {
		if n, err := in.Read(p); string(p[:n]) != want || err != nil {
			t.Fatalf("%q, %v; want %q", p[:n], err, want)
		}
	}
	if n, err := in.Read(p); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("behind what was received there are %d bytes, %v", n, err)
	}
}

// A read that waits ends with Stop.
func TestStopEndsARead(t *testing.T) {
	w, _ := newRig().sockets(t)
	waits := make(chan struct{})
	go func() {
		<-waits
		w.Stop()
	}()
	n, err := w.Input(func() { close(waits) }).Read(make([]byte, 1))
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A TLS handshake ends when the client sends nothing for ten seconds, or when the connection is to end.
func TestHandshakeIsBounded(t *testing.T) {
	for _, stops := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ours, client := net.Pipe()
			defer client.Close()
			w := newRig().wire(t, tls.Server(ours, &tls.Config{}))
			want := handshakeTime
			if stops {
				want = time.Second
				time.AfterFunc(want, w.Stop)
			}
			began := time.Now()
			if err := w.ShakeHands(); err == nil || time.Since(began) != want {
				t.Errorf("stops: %v; it ends after %v, %v", stops, time.Since(began), err)
			}
		})
	}
	if w, _ := newRig().sockets(t); w.ShakeHands() != nil {
		t.Error("without TLS there is a handshake")
	}
}

// The client reads the last reply although the wire ends with unread input.
func TestLastReplyIsRead(t *testing.T) {
	w, client := newRig().tcp(t)
	send(t, client, "a request that cannot be read on")
	w.Input(func() {}).Read(make([]byte, 1))
	w.Write([]byte("-ERR Protocol error\r\n"))
	w.Abort()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		w.Close()
	}()
	got, err := io.ReadAll(client)
	client.Close()
	if <-closed; string(got) != "-ERR Protocol error\r\n" || err != nil {
		t.Errorf("the client reads %q, %v", got, err)
	}
}

// A client that goes on sending while the server stops reads its replies to the end: closing the socket with what came
// after the last look would take back those that are still on their way.
func TestRepliesAreReadThoughMoreComesAfterStop(t *testing.T) {
	w, client := newRig().tcp(t)
	client.(*net.TCPConn).SetReadBuffer(4096)
	send(t, client, "a request")
	in, p := w.Input(func() {}), make([]byte, 64)
	if _, err := in.Read(p); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 64<<10)
	if n, err := w.Write(reply); n != len(reply) || err != nil {
		t.Fatal(n, err)
	}
	w.Stop()
	if n, err := in.Read(p); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(n, err)
	}
	send(t, client, "the next request, which came too late to be read")
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		w.Close()
	}()
	got, err := io.ReadAll(client)
	client.Close()
	if <-closed; len(got) != len(reply) || err != nil {
		t.Errorf("the client reads %d of %d bytes, %v", len(got), len(reply), err)
	}
}
