package wire

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A reply is written to a client that takes a chunk of it in less than three quarters of WriteTimeout, however long all
// of it takes.
func TestReplyToASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		w, client := r.pipe(t)
		reply := bytes.Repeat([]byte("0123456789abcdef"), 20*writeChunk/16+1)
		got := make(chan []byte)
		go func() {
			var all []byte
			for p := make([]byte, writeChunk); len(all) < len(reply); {
				time.Sleep(writeTime*3/4 - time.Second)
				n, _ := io.ReadFull(client, p[:min(len(p), len(reply)-len(all))])
				all = append(all, p[:n]...)
			}
			got <- all
		}()
		n, err := w.Write(reply)
		if n != len(reply) || err != nil || !bytes.Equal(<-got, reply) {
			t.Errorf("%d of %d bytes are written, %v", n, len(reply), err)
		}
		if sent := r.Sent.Load(); sent != uint64(len(reply)) {
			t.Errorf("%d bytes are counted, want %d", sent, len(reply))
		}
		r.logged(t, "")
	})
}

// A client that takes no more ends the connection after WriteTimeout. What it took is counted, down to the byte.
func TestReplyThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		w, client := r.pipe(t)
		const took = writeChunk + 100
		go io.ReadFull(client, make([]byte, took))
		began := time.Now()
		n, err := w.Write(make([]byte, 10*writeChunk))
		if n != took || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != writeTime {
			t.Errorf("%d bytes are written, want %d; %v, after %v", n, took, err, time.Since(began))
		}
		if sent := r.Sent.Load(); sent != took {
			t.Errorf("%d bytes are counted, want %d", sent, took)
		}
		r.logged(t, "of a client that does not read its replies")
		if _, err := w.Input(func() {}).Read(make([]byte, 1)); err == nil {
			t.Error("the input goes on")
		}
	})
}

// The deadline of a write moves on with time, not with each write: that would cost as much as the write.
func TestWriteDeadlineMovesSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, client := newRig().pipe(t)
		go io.Copy(io.Discard, client)
		write := func() time.Time {
			w.Write([]byte("+OK\r\n"))
			return w.writeBy
		}
		first := write()
		time.Sleep(writeTime / 4)
		if by := write(); by != first {
			t.Errorf("after a quarter of WriteTimeout it moved by %v", by.Sub(first))
		}
		time.Sleep(time.Nanosecond)
		if by := write(); by != time.Now().Add(writeTime) {
			t.Errorf("beyond a quarter it ends in %v", time.Until(by))
		}
	})
}

// A write that fails because the client has left is not called one that the client does not read.
func TestWriteToAClientThatHasLeft(t *testing.T) {
	r := newRig()
	w, client := r.sockets(t)
	client.Close()
	if n, err := w.Write([]byte("+OK\r\n")); n > 0 || err == nil {
		t.Errorf("%d bytes are written, %v", n, err)
	}
	r.logged(t, "")
}

// Cut ends a write that waits, and all later ones. It is logged once a second, with how often it happened.
func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		cut := func() {
			w, _ := r.pipe(t)
			waits := make(chan error)
			go func() {
				_, err := w.Write([]byte("a message"))
				waits <- err
			}()
			synctest.Wait()
			began := time.Now()
			w.Cut()
			w.Cut()
			if err := <-waits; err == nil || time.Since(began) > 0 {
				t.Errorf("the write that waits: %v, after %v", err, time.Since(began))
			}
			if n, err := w.Write([]byte("x")); n > 0 || !errors.Is(err, net.ErrClosed) {
				t.Errorf("a later write: %d bytes, %v", n, err)
			}
			if _, err := w.Input(func() {}).Read(make([]byte, 1)); err == nil || !w.Stopping() {
				t.Errorf("the input: %v", err)
			}
		}
		cut()
		r.logged(t, "of a subscriber that does not read its messages")
		cut()
		r.logged(t, "times=1")
		time.Sleep(time.Second)
		cut()
		if !bytes.Contains([]byte(r.log.String()), []byte("times=2")) {
			t.Errorf("the second line does not count: %q", r.log.String())
		}
	})
}

// CutOff does not wait for a client that does not read, as closing a TLS connection does.
func TestCutOffWritesNothing(t *testing.T) {
	config := certificate()
	synctest.Test(t, func(t *testing.T) {
		ours, client := net.Pipe()
		w := newRig().wire(t, tls.Server(ours, config))
		shakeHands(t, w, tls.Client(client, config))
		began := time.Now()
		w.CutOff()
		if n, err := client.Read(make([]byte, 1)); n > 0 || err != io.EOF || time.Since(began) > 0 {
			t.Errorf("the client reads %d bytes, %v, after %v", n, err, time.Since(began))
		}
	})
}
