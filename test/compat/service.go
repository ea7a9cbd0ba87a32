package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

const dialTimeout = time.Second

// service is one address for a cluster, as orchestrators offer it: a new connection
// goes to a node that accepts it; one whose node dies is broken.
type service struct {
	nodes    []*cluster.Node
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	current int                   // index of the node that gets the next connection
	open    map[net.Conn]struct{} // both ends of each connection; nil when closed
}

func newService(nodes []*cluster.Node) (*service, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{nodes: nodes, listener: l, open: map[net.Conn]struct{}{}}
	s.running.Go(s.accept)
	return s, nil
}

func (s *service) address() string { return s.listener.Addr().String() }

// node is the one to which connections go.
func (s *service) node() *cluster.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[s.current]
}

func (s *service) accept() {
	for {
		near, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			s.running.Go(func() { s.serve(near) })
		}
	}
}

func (s *service) serve(near net.Conn) {
	defer near.Close()
	far := s.dial()
	if far == nil {
		return
	}
	defer far.Close()
	if !s.register(near, far) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { relay(near, far) })
	relay(far, near)
	back.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, near)
	delete(s.open, far)
}

// relay copies from src to dst until one of them ends, and then ends both.
func relay(dst, src net.Conn) {
	io.Copy(dst, src)
	dst.Close()
	src.Close()
}

// dial connects to the current node, or to the next one that accepts.
func (s *service) dial() net.Conn {
	for range s.nodes {
		n := s.node()
		if c, err := net.DialTimeout("tcp", n.RESPAddr, dialTimeout); err == nil {
			return c
		}
		s.mu.Lock()
		if s.nodes[s.current] == n {
			s.current = (s.current + 1) % len(s.nodes)
		}
		s.mu.Unlock()
	}
	return nil
}

func (s *service) register(conns ...net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		return false
	}
	for _, c := range conns {
		s.open[c] = struct{}{}
	}
	return true
}

// close breaks every connection and waits for their end.
func (s *service) close() {
	s.listener.Close()
	s.mu.Lock()
	for c := range s.open {
		c.Close()
	}
	s.open = nil
	s.mu.Unlock()
	s.running.Wait()
}
