package client

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/turnlog/turnlog/internal/server/redis"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/raftstore"
	"github.com/turnlog/turnlog/turn"
)

// engine gives a node the shape that the Redis server asks for.
type engine struct{ *raftstore.Node }

func (e engine) Submit(ctx context.Context, op turn.Op) command.Pending {
	return e.Node.Submit(ctx, op)
}

// StartServer runs a node with its Redis server in this process and returns the
// address; stop ends both. The examples, which are another package, use it too.
func StartServer(dir string) (addr string, stop func(), err error) {
	quiet := slog.New(slog.DiscardHandler)
	raftL, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	node, err := raftstore.Open(raftstore.Config{NodeID: "n1", DataDir: dir, Listener: raftL, Logger: quiet})
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		node.Close()
		return "", nil, err
	}
	server := redis.New(redis.Config{Listener: l, Engine: engine{node}, Logger: quiet})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = node.Run(ctx) })
	running.Go(func() { _ = server.Run(ctx) })
	return l.Addr().String(), func() { cancel(); running.Wait() }, nil
}

func realServer(t *testing.T) (addr string) {
	t.Helper()
	addr, stop, err := StartServer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return addr
}

// cutter is a proxy that loses answers: the request is delivered, but instead of
// the answer the client gets the end of the connection. It does so with one
// batch of bytes from the server in every n, at random.
type cutter struct {
	l      net.Listener
	server string
	n      int
	cuts   atomic.Int64
	done   sync.WaitGroup
	open   sync.Map // net.Conn to nothing
}

func newCutter(t *testing.T, server string, n int) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{l: l, server: server, n: n}
	c.done.Go(c.accept)
	t.Cleanup(func() {
		l.Close()
		c.open.Range(func(k, _ any) bool { k.(net.Conn).Close(); return true })
		c.done.Wait()
	})
	return c
}

func (c *cutter) addr() string { return c.l.Addr().String() }

func (c *cutter) accept() {
	for {
		client, err := c.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.server)
		if err != nil {
			client.Close()
			continue
		}
		c.open.Store(client, nil)
		c.done.Go(func() {
			io.Copy(server, client)
			server.Close()
		})
		c.done.Go(func() {
			c.answers(client, server)
			client.Close()
			server.Close()
			c.open.Delete(client)
		})
	}
}

func (c *cutter) answers(client, server net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if rand.IntN(c.n) == 0 {
			c.cuts.Add(1)
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
