package faultproxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/ports"
)

// echoServer answers every line with itself and tells each line that it got.
func echoServer(t *testing.T) (addr string, got <-chan string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	lines := make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					lines <- line
					io.WriteString(c, line)
				}
			}()
		}
	}()
	return l.Addr().String(), lines
}

type rig struct {
	t        *testing.T
	proxy    *Proxy
	to, from *Direction
	got      <-chan string
}

func newRig(t *testing.T) *rig {
	addr, got := echoServer(t)
	r := &rig{t: t, to: &Direction{}, from: &Direction{}, got: got}
	r.proxy = For(t, Config{Targets: []string{addr}, To: r.to, From: r.from, Seed: 1})
	return r
}

func (r *rig) dial() (net.Conn, *bufio.Reader) {
	c, err := net.Dial("tcp", r.proxy.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	return c, bufio.NewReader(c)
}

func (r *rig) roundTrip(c net.Conn, in *bufio.Reader, line string) {
	r.t.Helper()
	io.WriteString(c, line)
	if answer, err := in.ReadString('\n'); answer != line {
		r.t.Fatalf("sent %q, got %q, %v", line, answer, err)
	}
	<-r.got
}

// silent requires that nothing arrives for a while.
func (r *rig) silent(c net.Conn, in *bufio.Reader) {
	r.t.Helper()
	c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if answer, err := in.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
		r.t.Fatalf("got %q, %v in spite of the fault", answer, err)
	}
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
}

func TestProxyPasses(t *testing.T) {
	r := newRig(t)
	c, in := r.dial()
	r.roundTrip(c, in, "hello\n")
	r.roundTrip(c, in, strings.Repeat("long", 100_000)+"\n")
	c.(*net.TCPConn).CloseWrite()
	if _, err := in.ReadByte(); err != io.EOF {
		t.Fatalf("after the end of the request: %v", err)
	}
}

func TestProxyHoldsAndReleases(t *testing.T) {
	r := newRig(t)
	c, in := r.dial()
	r.roundTrip(c, in, "before\n")

	r.to.Set(Flow{Hold: true})
	io.WriteString(c, "one\n")
	r.silent(c, in)
	if len(r.got) != 0 {
		t.Fatal("the request arrived")
	}
	r.to.Set(Flow{})
	if line, _ := in.ReadString('\n'); line != "one\n" {
		t.Fatalf("after the release: %q", line)
	}
	<-r.got

	r.from.Set(Flow{Hold: true}) // one direction only: the request arrives
	io.WriteString(c, "two\n")
	if line := <-r.got; line != "two\n" {
		t.Fatal(line)
	}
	r.silent(c, in)
	r.from.Set(Flow{})
	if line, _ := in.ReadString('\n'); line != "two\n" {
		t.Fatalf("after the release: %q", line)
	}
}

func TestProxyHalfOpen(t *testing.T) {
	r := newRig(t)
	r.to.Set(Flow{Hold: true})
	c, in := r.dial() // connects: the other side's silence is all that shows
	io.WriteString(c, "x\n")
	r.silent(c, in)
}

func TestProxyCuts(t *testing.T) {
	r := newRig(t)
	c, in := r.dial()
	r.roundTrip(c, in, "before\n")
	r.to.Set(Flow{Cut: true})
	r.proxy.Reset()
	if _, err := in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("open connection after the cut: %v", err)
	}
	if fresh, err := net.Dial("tcp", r.proxy.Addr()); err == nil { // else it was reset at once
		defer fresh.Close()
		fresh.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := fresh.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("new connection during the cut: %v", err)
		}
	}
	r.to.Set(Flow{})
	c, in = r.dial()
	r.roundTrip(c, in, "after\n")
}

func TestProxyDelays(t *testing.T) {
	r := newRig(t)
	c, in := r.dial()
	r.to.Set(Flow{Delay: 60 * time.Millisecond})
	start := time.Now()
	r.roundTrip(c, in, "slow\n")
	if d := time.Since(start); d < 60*time.Millisecond {
		t.Fatalf("took %v", d)
	}
}

func TestProxyLosesAnswers(t *testing.T) {
	r := newRig(t)
	c, in := r.dial()
	r.roundTrip(c, in, "before\n")
	r.proxy.LoseAnswers(1)
	io.WriteString(c, "carried out\n")
	if line := <-r.got; line != "carried out\n" {
		t.Fatal(line)
	}
	if _, err := in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the answer came through: %v", err)
	}
	if r.proxy.Lost() != 1 {
		t.Fatalf("%d answers lost", r.proxy.Lost())
	}
}

func TestFlowLatency(t *testing.T) {
	f := Flow{Delay: time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.1}
	if d := f.latency(0.5); d != 6*time.Millisecond {
		t.Errorf("half the jitter: %v", d)
	}
	if d := f.latency(0.05); d < retransmission {
		t.Errorf("a lost packet: %v", d)
	}
}

func TestProxyAbandons(t *testing.T) {
	r := newRig(t)
	c, in := r.dial()
	r.roundTrip(c, in, "before\n")
	r.proxy.Abandon()
	io.WriteString(c, "lost\n")
	r.silent(c, in)
	other, otherIn := r.dial()
	r.roundTrip(other, otherIn, "another connection\n")
	r.proxy.Reset()
	if _, err := in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("after the reset: %v", err)
	}
}

// TestNextTarget: a connection goes to the next target when one is gone, and further
// ones go there at once.
func TestNextTarget(t *testing.T) {
	gone := ports.For(t, 1)[0]
	addr, got := echoServer(t)
	r := &rig{t: t, got: got, proxy: For(t, Config{Targets: []string{gone, addr}})}
	if r.proxy.Target() != gone {
		t.Errorf("the first target is %s", r.proxy.Target())
	}
	for range 2 {
		c, in := r.dial()
		r.roundTrip(c, in, "hello\n")
		if r.proxy.Target() != addr {
			t.Errorf("the target is %s", r.proxy.Target())
		}
	}
}

// TestCarry: bytes go the way of Carry, and the connection ends when it returns.
func TestCarry(t *testing.T) {
	addr, got := echoServer(t)
	ended := make(chan struct{})
	r := &rig{t: t, got: got, proxy: For(t, Config{Targets: []string{addr}, Carry: func(c *Conn) {
		go func() {
			<-c.Done()
			close(ended)
		}()
		go io.Copy(c.Server, c.Client)
		io.CopyN(c.Client, c.Server, 6)
	}})}
	c, in := r.dial()
	r.roundTrip(c, in, "hello\n")
	if _, err := in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after six bytes: %v", err)
	}
	<-ended
}

// TestCloseEndsCarry: what Carry waits for ends with the proxy.
func TestCloseEndsCarry(t *testing.T) {
	addr, _ := echoServer(t)
	began, ended := make(chan struct{}), false
	p := For(t, Config{Targets: []string{addr}, Carry: func(c *Conn) {
		close(began)
		c.Server.Read(make([]byte, 1))
		ended = true
	}})
	(&rig{t: t, proxy: p}).dial()
	<-began
	p.Close()
	if !ended {
		t.Error("Close has returned before Carry")
	}
}
