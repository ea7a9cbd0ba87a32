package client

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
)

// fake is a server whose every answer is scripted, for failures that a real one
// produces only by chance.
type fake struct {
	t    *testing.T
	l    net.Listener
	seen chan []string // requests but for the handshake
	// greetings are the requests of handshakes, as many as fit.
	greetings chan []string
	// answer returns the reply to a request; ok false: the connection is cut
	// instead. The handshake is answered by itself.
	answer func(args []string, w *resp.Writer) (ok bool)

	mu    sync.Mutex
	conns map[net.Conn]bool
	count int // connections that were ever open
	done  sync.WaitGroup
}

func newFake(t *testing.T, answer func(args []string, w *resp.Writer) bool) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, l: l, seen: make(chan []string, 100_000),
		greetings: make(chan []string, 10), answer: answer, conns: map[net.Conn]bool{}}
	f.done.Go(f.accept)
	t.Cleanup(f.close)
	return f
}

func (f *fake) addr() string { return f.l.Addr().String() }

func (f *fake) close() {
	f.l.Close()
	f.mu.Lock()
	for c := range f.conns {
		c.Close()
	}
	f.mu.Unlock()
	f.done.Wait()
}

func (f *fake) accept() {
	for {
		c, err := f.l.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns[c] = true
		f.count++
		f.mu.Unlock()
		f.done.Go(func() { f.serve(c) })
	}
}

func (f *fake) serve(c net.Conn) {
	defer c.Close()
	r := resp.NewRequestReader(c, resp.Limits{})
	w := resp.NewWriter(c)
	w.SetProtocol(3)
	for {
		raw, err := r.Next()
		if err != nil {
			return
		}
		args := make([]string, len(raw))
		for i := range raw {
			args[i] = string(raw[i])
		}
		switch args[0] {
		case "HELLO", "TURN.NS":
			w.Status("OK")
			select {
			case f.greetings <- args:
			default:
			}
		default:
			f.seen <- args
			if !f.answer(args, w) {
				return
			}
		}
		if r.Buffered() == 0 && w.Flush() != nil {
			return
		}
	}
}

// requests returns what has been received so far.
func (f *fake) requests() [][]string {
	var out [][]string
	for {
		select {
		case args := <-f.seen:
			out = append(out, args)
		default:
			return out
		}
	}
}

func newTestClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// steps answers the n-th request with the n-th step, and the last one for ever.
func steps(ss ...func(w *resp.Writer) bool) func([]string, *resp.Writer) bool {
	var mu sync.Mutex
	n := 0
	return func(_ []string, w *resp.Writer) bool {
		mu.Lock()
		s := ss[min(n, len(ss)-1)]
		n++
		mu.Unlock()
		return s(w)
	}
}

func cut(*resp.Writer) bool { return false }

func fails(text string) func(*resp.Writer) bool {
	return func(w *resp.Writer) bool { w.Error(text); return true }
}

func appended(w *resp.Writer) bool {
	w.Map(2)
	w.BulkString("first_seq")
	w.Int(1)
	w.BulkString("revision")
	w.Int(7)
	return true
}

func popped(w *resp.Writer) bool {
	w.Map(1)
	w.BulkString("messages")
	w.Array(1)
	w.Array(4)
	w.Int(3)
	w.Int(17)
	w.BulkString("id")
	w.BulkString("data")
	return true
}

// silent keeps the answer back until the test ends.
func silent(t *testing.T) func(*resp.Writer) bool {
	return func(*resp.Writer) bool { <-t.Context().Done(); return false }
}

const long = 20 * time.Second // what should not pass in any test
