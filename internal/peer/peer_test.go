package peer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/hangup"
	"github.com/turnlog/turnlog/internal/ports"
)

// node is a running Network. Change its Config in the options of start.
type node struct {
	*Network
	addr string
}

func start(t *testing.T, id string, options ...func(*Config)) node {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Listener: ln,
		Self:     func() Facts { return Facts{ClusterID: "c", NodeID: id, Incarnation: "i-" + id, Wall: time.Now()} },
		Serve: func(_ context.Context, r Request) ([]byte, error) {
			return append([]byte("echo "), r.Payload...), nil
		},
	}
	for _, o := range options {
		o(&cfg)
	}
	n := New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run of %s: %v", id, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("Run of %s does not end", id)
		}
	})
	return node{n, ln.Addr().String()}
}

// join connects a to b and waits until the connection stands.
func join(t *testing.T, a, b node, id string) {
	t.Helper()
	a.SetPeers(map[string]string{id: b.addr})
	until(t, func() bool { return a.Connected(id) })
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("condition does not come true")
		}
	}
}

func TestConcurrentCalls(t *testing.T) {
	a, b := start(t, "a"), start(t, "b")
	join(t, a, b, "b")
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			want := strings.Repeat(fmt.Sprint(i, ","), i*i/2+1) // to 100 KB and above the copy threshold
			got, err := a.Call(t.Context(), "b", 7, []byte(want))
			if err != nil || string(got) != "echo "+want {
				t.Errorf("call %d: %d bytes, %v", i, len(got), err)
			}
		})
	}
	wg.Wait()
}

func TestSlowHandlerDelaysNoOther(t *testing.T) {
	release := make(chan struct{})
	a := start(t, "a")
	b := start(t, "b", func(c *Config) {
		c.Serve = func(ctx context.Context, r Request) ([]byte, error) {
			if r.Kind == 1 {
				<-release
			}
			return r.Payload, nil
		}
	})
	join(t, a, b, "b")
	slow := make(chan error, 1)
	go func() {
		_, err := a.Call(t.Context(), "b", 1, nil)
		slow <- err
	}()
	for range 10 {
		if _, err := a.Call(t.Context(), "b", 2, nil); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	if err := <-slow; err != nil {
		t.Fatal(err)
	}
}

func TestOrderedRequestsKeepTheirOrder(t *testing.T) {
	var mu sync.Mutex
	var seen []uint32
	a := start(t, "a")
	b := start(t, "b", func(c *Config) {
		c.Ordered = func(r Request, reply func([]byte, error)) {
			mu.Lock()
			seen = append(seen, binary.LittleEndian.Uint32(r.Payload))
			mu.Unlock()
			go reply(r.Payload, nil)
		}
	})
	join(t, a, b, "b")
	const n = 5000
	var wg sync.WaitGroup
	wg.Add(n)
	for i := range uint32(n) {
		a.Send("b", Ordered|3, binary.LittleEndian.AppendUint32(nil, i), func(p []byte, err error) {
			if err != nil || binary.LittleEndian.Uint32(p) != i {
				t.Errorf("request %d: %v, %v", i, p, err)
			}
			wg.Done()
		})
	}
	wg.Wait()
	for i, got := range seen {
		if got != uint32(i) {
			t.Fatalf("request %d was handled at place %d", got, i)
		}
	}
}

func TestOverload(t *testing.T) {
	release := make(chan struct{})
	a := start(t, "a", func(c *Config) { c.Bounds.Calls = 4 })
	b := start(t, "b", func(c *Config) {
		c.Bounds.Handlers = 2
		c.Serve = func(context.Context, Request) ([]byte, error) { <-release; return nil, nil }
	})
	join(t, a, b, "b")
	var overloaded atomic.Int32
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := a.Call(t.Context(), "b", 1, nil); errors.Is(err, ErrOverloaded) {
				overloaded.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	until(t, func() bool { return overloaded.Load() == 8 })
	close(release)
	wg.Wait()
}

func TestHandlerErrorReachesTheAsker(t *testing.T) {
	a := start(t, "a")
	b := start(t, "b", func(c *Config) {
		c.Serve = func(context.Context, Request) ([]byte, error) { return nil, errors.New("broken pipe organ") }
	})
	join(t, a, b, "b")
	_, err := a.Call(t.Context(), "b", 1, nil)
	var remote *RemoteError
	if !errors.As(err, &remote) || !strings.Contains(err.Error(), "pipe organ") {
		t.Fatalf("got %v", err)
	}
}

// An answer for which no frame has room is told apart from a node that fails.
func TestAnswerBeyondAFrame(t *testing.T) {
	a := start(t, "a")
	b := start(t, "b", func(c *Config) {
		c.Bounds.Frame = 100
		c.Serve = func(_ context.Context, r Request) ([]byte, error) { return make([]byte, r.Kind), nil }
	})
	join(t, a, b, "b")
	if p, err := a.Call(t.Context(), "b", 100, nil); len(p) != 100 || err != nil {
		t.Errorf("an answer that just fits: %d bytes, %v", len(p), err)
	}
	if _, err := a.Call(t.Context(), "b", 101, nil); !errors.Is(err, ErrAnswerTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestGivingUpCancelsTheHandler(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan struct{})
	a := start(t, "a")
	b := start(t, "b", func(c *Config) {
		c.Serve = func(ctx context.Context, _ Request) ([]byte, error) {
			cancel() // the caller gives up
			<-ctx.Done()
			close(cancelled)
			return nil, ctx.Err()
		}
	})
	join(t, a, b, "b")
	if _, err := a.Call(ctx, "b", 1, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	<-cancelled
}

func TestReconnect(t *testing.T) {
	addr := ports.For(t, 1)[0] // no other gets it while no node listens
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(ln net.Listener) (stop func()) {
		b := New(Config{Listener: ln, Self: func() Facts { return Facts{NodeID: "b"} },
			Serve: func(ctx context.Context, r Request) ([]byte, error) {
				if r.Kind == 1 {
					<-ctx.Done()
				}
				return nil, ctx.Err()
			}})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		return func() { cancel(); <-done }
	}
	stop := serve(ln)
	a := start(t, "a")
	join(t, a, node{nil, addr}, "b")

	lost := make(chan error, 1)
	a.Send("b", 1, nil, func(_ []byte, err error) { lost <- err })
	stop()
	// The connection breaks before the handler's answer is out, or after it.
	if err := <-lost; err == nil || errors.Is(err, ErrNotSent) || errors.Is(err, ErrOverloaded) {
		t.Fatalf("a request in flight when the peer stops: %v", err)
	}
	until(t, func() bool { _, err := a.Call(t.Context(), "b", 2, nil); return errors.Is(err, ErrNotSent) })
	if ln, err = net.Listen("tcp", addr); err != nil {
		t.Fatal(err)
	}
	defer serve(ln)()
	until(t, func() bool { _, err := a.Call(t.Context(), "b", 2, nil); return err == nil })
}

// frozen is a connection whose reads return nothing once it is frozen, as those
// of a stopped process.
type frozen struct {
	net.Conn
	ice *atomic.Bool
}

func (f frozen) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	for err == nil && f.ice.Load() {
		n, err = f.Conn.Read(p)
	}
	return n, err
}

func TestSilentPeerIsCutOff(t *testing.T) {
	var ice atomic.Bool
	a := start(t, "a", func(c *Config) {
		c.Timing.Ping, c.Timing.Idle = 10*time.Millisecond, 100*time.Millisecond
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			c, err := net.Dial("tcp", addr)
			return frozen{c, &ice}, err
		}
	})
	b := start(t, "b", func(c *Config) {
		c.Serve = func(ctx context.Context, _ Request) ([]byte, error) { <-ctx.Done(); return nil, nil }
	})
	for err := error(ErrNotSent); !errors.Is(err, ErrLost); { // a busy machine may take as long before the call
		if !errors.Is(err, ErrNotSent) {
			t.Fatalf("got %v", err)
		}
		ice.Store(false)
		join(t, a, b, "b")
		ice.Store(true)
		_, err = a.Call(t.Context(), "b", 1, nil)
	}
}

func TestRefusals(t *testing.T) {
	refuse := func(id string) func(*Config) {
		return func(c *Config) {
			c.Admit = func(m Meeting) error {
				if m.Remote.NodeID == id {
					return &Refusal{RefusedIncarnation, "who are you, " + m.Remote.Incarnation}
				}
				return nil
			}
		}
	}
	told := make(chan *Refusal, 1)
	listen := func(c *Config) {
		c.Refused = func(_ Meeting, r *Refusal) {
			select {
			case told <- r:
			default:
			}
		}
	}
	check := func(t *testing.T, r *Refusal, reason string) {
		t.Helper()
		if r.Code != RefusedIncarnation || !strings.Contains(r.Reason, reason) {
			t.Fatalf("told %+v", r)
		}
	}
	t.Run("by the acceptor", func(t *testing.T) {
		a, b := start(t, "a", listen), start(t, "b", refuse("a"))
		facts, err := a.Probe(t.Context(), b.addr)
		var r *Refusal
		if !errors.As(err, &r) || facts.NodeID != "b" {
			t.Fatalf("probe: %+v, %v", facts, err)
		}
		check(t, r, "i-a")
		check(t, <-told, "i-a")
		if _, err := a.Streams().Dial(b.addr, 20*time.Second); !errors.As(err, &r) {
			t.Fatalf("stream: %v", err)
		}
		<-told
		a.SetPeers(map[string]string{"b": b.addr})
		check(t, <-told, "i-a")
		if a.Connected("b") {
			t.Fatal("connected although refused")
		}
	})
	t.Run("by the dialer", func(t *testing.T) {
		a, b := start(t, "a", refuse("b")), start(t, "b", listen)
		a.SetPeers(map[string]string{"b": b.addr})
		check(t, <-told, "i-b")
	})
	t.Run("another node than meant", func(t *testing.T) {
		a, b := start(t, "a", listen), start(t, "b")
		a.SetPeers(map[string]string{"c": b.addr})
		if r := <-told; r.Code != RefusedNode {
			t.Fatalf("told %+v", r)
		}
	})
}

func TestStreams(t *testing.T) {
	a, b := start(t, "a"), start(t, "b")
	out, err := a.Streams().Dial(b.addr, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := b.Streams().Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := out.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := in.Read(got); err != nil || string(got) != "hello" {
		t.Fatalf("got %q, %v", got, err)
	}
}

// The rest of a message is waited for as long as Timing.Stall, from when it is read on; a further message for ever.
func TestStreamClosesWhenAMessagePauses(t *testing.T) {
	const stall = 300 * time.Millisecond
	a, b := start(t, "a"), start(t, "b", func(c *Config) { c.Timing.Stall = stall })
	out, err := a.Streams().Dial(b.addr, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := b.Streams().Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(in, got); err != nil || string(got) != want {
			t.Fatalf("read %q, %v; want %q", got, err, want)
		}
	}
	io.WriteString(out, "one,")
	read("one,")
	io.WriteString(out, "its rest")
	time.Sleep(2 * stall) // the receiver takes its time
	read("its rest")
	io.WriteString(in, "answer")
	next := time.AfterFunc(2*stall, func() { io.WriteString(out, "two,") })
	defer next.Stop()
	read("two,")
	if n, err := in.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the rest does not come: %d bytes, %v", n, err)
	}
	out.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(out); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the stream is open: %v", err)
	}
}

// A node answers and ends before the answer is read: it may run on an older copy of its data by
// the time that it is, so the answer is not taken.
func TestAnswerOfANodeThatEndedIsNotTaken(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not tell of an end behind unread input")
	}
	ours := mutual(t)
	for name, with := range map[string]*TLS{"plain": nil, "TLS": ours} {
		t.Run(name, func(t *testing.T) {
			secure := func(c *Config) { c.TLS = with }
			a, b := start(t, "a", secure), start(t, "b", secure)
			out, err := a.Streams().Dial(b.addr, 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			in, err := b.Streams().Accept()
			if err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, 3)
			for _, what := range []string{"one", "two"} {
				io.WriteString(in, what)
				if _, err := io.ReadFull(out, answer); err != nil || string(answer) != what {
					t.Fatalf("while the node runs: %q, %v", answer, err)
				}
			}
			io.WriteString(in, "end")
			in.Close()
			until(t, func() bool { return hangup.Of(out.(openStream).raw) })
			if n, err := io.ReadFull(out, answer); err == nil {
				t.Fatalf("the node has ended, and %q counts", answer[:n])
			}
		})
	}
}

func TestStrangersAreClosed(t *testing.T) {
	b := start(t, "b", func(c *Config) { c.Timing.Handshake = 200 * time.Millisecond })
	for name, say := range map[string][]byte{
		"http":    []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"silence": nil,
		"huge":    append([]byte(handshake), messageVersion, byte(RPC), 0xff, 0xff),
		"empty":   append([]byte(handshake), messageVersion, byte(RPC), 0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", b.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write(say); err != nil {
				t.Fatal(err)
			}
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
			var buf bytes.Buffer
			if _, err := buf.ReadFrom(c); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Fatalf("the connection is not closed: %v", err)
			}
		})
	}
}

// A refusal tells what the acceptor knew when it judged, or less. What it has learned since
// then is not what the refusal stands on.
func TestRefusalTellsWhatWasKnown(t *testing.T) {
	told := make(chan uint64, 1)
	var progress atomic.Uint64
	progress.Store(1)
	b := start(t, "b", func(c *Config) {
		self := c.Self
		c.Self = func() Facts { f := self(); f.Progress = progress.Load(); return f }
		c.Admit = func(Meeting) error { progress.Store(2); return &Refusal{RefusedMember, "no member"} }
	})
	a := start(t, "a", func(c *Config) { c.Refused = func(m Meeting, _ *Refusal) { told <- m.Remote.Progress } })
	if _, err := a.Probe(t.Context(), b.addr); err == nil {
		t.Fatal("it is let in")
	}
	if got := <-told; got != 1 {
		t.Errorf("it judged at 1, and says that it was at %d", got)
	}
}

// While it is judged which connections are to go, nothing that needs the Network waits.
func TestCutDelaysNoOther(t *testing.T) {
	a, b := start(t, "a"), start(t, "b")
	join(t, a, b, "b")
	judged, answered := make(chan struct{}), make(chan struct{})
	go func() {
		a.Cut(func(Facts, Purpose) bool { close(judged); <-answered; return true })
	}()
	<-judged
	if _, err := a.Call(t.Context(), "b", 1, nil); err != nil {
		t.Error(err)
	}
	close(answered)
	until(t, func() bool { return a.Connected("b") }) // again
}

// What the dialer says in addition is there before its stream is used, and an error then closes
// the stream. A version that says nothing is let in.
func TestSaidBeforeAStreamIsUsed(t *testing.T) {
	said := make(chan string, 2)
	b := start(t, "b", func(cfg *Config) {
		cfg.Begin = func(_ context.Context, m Meeting) error {
			said <- m.Remote.NodeID + ": " + string(m.Said)
			if string(m.Said) == "no" {
				return errors.New("not that")
			}
			return nil
		}
	})
	for text, accepted := range map[string]bool{"yes": true, "": true, "no": false} {
		a := start(t, "a", func(cfg *Config) {
			cfg.Say = func(m Meeting) []byte {
				if m.Remote.NodeID != "b" || m.Purpose != Stream {
					t.Errorf("asked what to say to %+v", m)
				}
				return []byte(text)
			}
		})
		c, err := a.Streams().Dial(b.addr, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if got := <-said; got != "a: "+text {
			t.Errorf("said was %q", got)
		}
		if accepted {
			if _, err := b.Streams().Accept(); err != nil {
				t.Fatal(err)
			}
		} else if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("the stream goes on")
		}
		c.Close()
	}
	c, err := net.Dial("tcp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	old := Facts{ClusterID: "c", NodeID: "old", Incarnation: "i", Wall: time.Now()}
	if err := writeHello(c, uint8(Stream), appendGreeting(nil, old, "b", maxFact)); err != nil {
		t.Fatal(err)
	}
	if code, _, err := readHello(c); code != 0 || err != nil {
		t.Fatalf("the answer is %d, %v", code, err)
	}
	if err := writeHello(c, 0, appendString(nil, "", maxReason)); err != nil {
		t.Fatal(err)
	}
	if got := <-said; got != "old: " {
		t.Errorf("said was %q", got)
	}
	if _, err := b.Streams().Accept(); err != nil {
		t.Fatal(err)
	}
}

// noGuests is a listener to which no node connects.
type noGuests struct{ closed chan struct{} }

func (l noGuests) Accept() (net.Conn, error) { <-l.closed; return nil, net.ErrClosed }
func (l noGuests) Close() error              { close(l.closed); return nil }
func (l noGuests) Addr() net.Addr            { return address("none") }

// The pause between two dials of a node that cannot be reached grows, to no more than RetryMax.
func TestPausesBetweenDials(t *testing.T) {
	const least, most = 20 * time.Millisecond, 300 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		var dials []time.Time
		ctx, cancel := context.WithCancel(t.Context())
		n := New(Config{
			Listener: noGuests{make(chan struct{})}, Self: func() Facts { return Facts{} },
			Timing: Timing{RetryMin: least, RetryMax: most},
			Dial: func(context.Context, string) (net.Conn, error) {
				dials = append(dials, time.Now())
				return nil, errors.New("not there")
			},
		})
		n.SetPeers(map[string]string{"b": "b"})
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if count := int(time.Minute / most); len(dials) < count || len(dials) > 2*count+10 {
			t.Fatalf("%d dials in a minute", len(dials))
		}
		for i := range dials[1:] {
			if pause := dials[i+1].Sub(dials[i]); pause > most || pause < least/2 || i > 10 && pause < most/2 {
				t.Errorf("%v between dial %d and the next", pause, i)
			}
		}
	})
}
