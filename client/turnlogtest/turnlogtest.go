// Package turnlogtest runs turnlog for a test: one server inside the test's process,
//
//	server := turnlogtest.Start(t)
//	c, err := client.New(client.Config{Addrs: []string{server.Addr()}})
//
// or a cluster of three nodes, which are processes of their own, with faults:
//
//	cluster := turnlogtest.StartCluster(t)
//	c, err := client.New(client.Config{Addrs: cluster.Addrs()})
//	…
//	leader, err := cluster.Leader(ctx)
//	err = leader.Kill()
//
// These are real nodes on free ports of 127.0.0.1 with their data in a temporary directory, so tests
// see the same answers, errors and limits as in production, from the Go client, from any Redis client
// and over HTTP.
//
// The nodes of a cluster are the test's own binary, started again: in such a process this package
// runs the node while the program is initialised, and neither TestMain nor a test runs there. What
// other packages do in their init functions may happen there, too.
//
// The package holds the whole server, unlike package client: import it from tests only. It runs on
// Unix systems.
package turnlogtest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/node"
)

// Server is a node of turnlog with its servers, in this process. Its methods may be called by any
// goroutine.
type Server struct {
	node  *node.Node
	stop  context.CancelFunc
	ended chan struct{} // closed when the node has ended
	err   error         // of the node; set before ended is closed
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
	cfg := settings(dir)
	cfg.Listen.RESP, cfg.Listen.HTTP = "127.0.0.1:0", "127.0.0.1:0"
	n, err := openNode(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("turnlogtest: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{node: n, stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.err = n.Run(ctx, nil)
	}()
	if err := s.waitReady(); err != nil {
		s.Close()
		return nil, fmt.Errorf("turnlogtest: %w", err)
	}
	return s, nil
}

// Addr is where the server listens for Redis and turnlog clients, as HOST:PORT.
func (s *Server) Addr() string { return s.node.RESPAddr() }

// HTTPAddr is where it listens for HTTP, as HOST:PORT.
func (s *Server) HTTPAddr() string { return s.node.HTTPAddr() }

// Close stops the server: what is in flight is finished first, and what was acknowledged
// is in its directory. It returns why the server failed before, if it did. Further calls
// return the same.
func (s *Server) Close() error {
	s.stop()
	<-s.ended
	return s.err
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
