// Package turnlogtest runs turnlog for tests: a single server inside the test's process,
//
//	server := turnlogtest.Start(t)
//	c, err := client.New(client.Config{Addrs: []string{server.Addr()}})
//
// or a cluster of three nodes, each in a process of its own, with faults:
//
//	cluster := turnlogtest.StartCluster(t)
//	c, err := client.New(client.Config{Addrs: cluster.Addrs()})
//	…
//	leader, err := cluster.Leader(ctx)
//	err = leader.Kill()
//
// These are real nodes, on free ports of 127.0.0.1 and with their data in a temporary directory. Tests
// therefore see the same answers, errors and limits as in production, with the Go client, any Redis
// client, and HTTP.
//
// To run the nodes of a cluster, the test's own binary is started again. In such a process, this
// package runs the node during the initialisation of the program, so neither TestMain nor a test runs
// there. The init functions of other packages may run there, too.
//
// Unlike package client, this package contains the whole server: import it only from tests. It runs on
// Unix systems.
package turnlogtest

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
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

// New runs a server with its data in dir, ready for requests, until Close. Use it where there is no
// testing.TB, such as in TestMain, or to open the same data again.
func New(dir string) (*Server, error) {
	dir, err := filepath.Abs(dir) // the tests may change the working directory
	if err != nil {
		return nil, fmt.Errorf("turnlogtest: %w", err)
	}
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

// Addr returns the HOST:PORT on which the server listens for Redis and turnlog clients.
func (s *Server) Addr() string { return s.node.RESPAddr() }

// HTTPAddr returns the HOST:PORT on which it listens for HTTP.
func (s *Server) HTTPAddr() string { return s.node.HTTPAddr() }

// Close stops the server. It first finishes the requests in flight; what was acknowledged is in the
// server's directory. If the server had failed before, Close returns the error; further calls return
// the same.
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
