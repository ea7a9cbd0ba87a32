// Package turnlogtest runs a turnlog server inside a test:
//
//	server := turnlogtest.Start(t)
//	c, err := client.New(client.Config{Addrs: []string{server.Addr()}})
//
// It is a real node, a cluster of one, with its Redis server on a free port of
// 127.0.0.1 and its data in a temporary directory, so tests see the same answers, errors
// and limits as in production, from the Go client and from any Redis client. It takes
// no part in failover: a cluster to try that with is started by `turnlog dev`.
//
// The package holds the whole server, unlike package client: import it from tests only.
package turnlogtest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/raftstore"
	"github.com/turnlog/turnlog/turn"
)

// Server is a node of turnlog with its Redis server, in this process. Its methods may be
// called by any goroutine.
type Server struct {
	addr  string
	node  *raftstore.Node
	redis *redis.Server

	stop  context.CancelFunc
	ended chan struct{} // closed when both have ended
	err   error         // of the node or the server; set before ended is closed
}

// Start runs a server for a test, ready for requests. It stops when the test, with its
// subtests, has ended. Errors fail the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// New runs a server with its data in dir, ready for requests, until Close: for what has no
// test of its own, as a TestMain, or is to be opened again with the same data.
func New(dir string) (*Server, error) {
	s, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("turnlogtest: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go s.run(ctx)
	if err := s.waitReady(); err != nil {
		s.Close()
		return nil, fmt.Errorf("turnlogtest: %w", err)
	}
	return s, nil
}

// Addr is where the server listens, as HOST:PORT.
func (s *Server) Addr() string { return s.addr }

// Close stops the server: what is in flight is finished first, and what was acknowledged
// is in its directory. It returns why the server failed before, if it did. Further calls
// return the same.
func (s *Server) Close() error {
	s.stop()
	<-s.ended
	return s.err
}

// Servers of tests are many and short-lived: election is how soon the node elects itself,
// segment how many bytes each file of its log reserves.
const (
	election = 50 * time.Millisecond
	segment  = 16 << 20
)

func open(dir string) (*Server, error) {
	quiet := slog.New(slog.DiscardHandler)
	nodes, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	node, err := raftstore.Open(raftstore.Config{NodeID: "n1", DataDir: dir, Logger: quiet,
		Peers:     raftstore.Peers{Listener: nodes, Closed: "it is a test's, without other nodes"},
		Storage:   raftstore.StorageBounds{SegmentBytes: segment},
		Consensus: raftstore.Consensus{Heartbeat: election, Election: election, Lease: election}})
	if err != nil {
		nodes.Close()
		return nil, err
	}
	clients, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		node.Close()
		return nil, err
	}
	server := redis.New(redis.Config{Listener: clients, Engine: engine{node}, Logger: quiet})
	return &Server{addr: clients.Addr().String(), node: node, redis: server, ended: make(chan struct{})}, nil
}

// run runs the Redis server until ctx ends, and then the node until it has done what the
// server left.
func (s *Server) run(ctx context.Context) {
	defer close(s.ended)
	defer s.stop()
	nodeCtx, stopNode := context.WithCancel(context.WithoutCancel(ctx))
	nodeEnded := make(chan error, 1)
	go func() {
		err := s.node.Run(nodeCtx)
		s.stop()
		nodeEnded <- err
	}()
	s.err = s.redis.Run(ctx)
	stopNode()
	if err := <-nodeEnded; err != nil {
		s.err = err
	}
}

// waitReady waits until the node leads, or has failed.
func (s *Server) waitReady() error {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		if ok, _ := s.node.Ready(); ok {
			return nil
		}
		select {
		case <-s.ended:
			return s.err
		case <-poll.C:
		}
	}
}

// engine gives the node the shape that the Redis server asks for.
type engine struct{ *raftstore.Node }

func (e engine) Submit(ctx context.Context, op turn.Op) command.Pending {
	return e.Node.Submit(ctx, op)
}
