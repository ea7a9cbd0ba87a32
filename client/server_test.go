package client

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/turnlog/turnlog/internal/faultproxy"
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

// newCutter is a proxy that loses answers: the request is delivered, but instead of
// the answer the client gets the end of the connection. It does so with one
// batch of bytes from the server in every n, at random.
func newCutter(t *testing.T, server string, n int) *faultproxy.Proxy {
	t.Helper()
	p := faultproxy.For(t, faultproxy.Config{Targets: []string{server}, Seed: rand.Uint64()})
	p.LoseAnswers(1 / float64(n))
	return p
}
