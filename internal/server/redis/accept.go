package redis

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/turnlog/turnlog/internal/server/redis/wire"
	"github.com/turnlog/turnlog/internal/signal"
)

func (s *Server) closeListeners() {
	for _, l := range []net.Listener{s.cfg.Listener, s.cfg.Local} {
		if l != nil {
			l.Close()
		}
	}
}

// acceptAll accepts until ctx ends or a listener fails, which closes both.
func (s *Server) acceptAll(ctx context.Context) error {
	var accepting errgroup.Group
	accept := func(l net.Listener, welcome func(net.Conn)) {
		if l != nil {
			accepting.Go(func() error {
				defer s.closeListeners()
				return s.accept(ctx, l, welcome)
			})
		}
	}
	accept(s.cfg.Listener, s.welcome)
	accept(s.cfg.Local, s.welcomeLocal)
	return accepting.Wait()
}

func (s *Server) accept(ctx context.Context, l net.Listener, welcome func(net.Conn)) error {
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			welcome(nc)
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return err
		default:
			// Out of file descriptors, usually: it passes when connections close.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.log.Error("redis: accept", "error", err, "pause", pause)
			signal.Wait(ctx, nil, pause)
		}
	}
}

// welcome serves a connection in a goroutine of its own, if there may be one more.
func (s *Server) welcome(nc net.Conn) {
	s.stats.accepted.Add(1)
	wire.KeepAlive(nc, s.cfg.DeadPeerTimeout)
	taken := s.takeDescriptor()
	c := s.newConn(nc, s.cfg.Users)
	s.mu.Lock()
	full := len(s.conns) >= s.cfg.MaxClients || !taken
	if !full {
		s.conns[c.client.ID] = c
		s.open.Add(1)
	}
	s.mu.Unlock()
	if full {
		s.stats.rejected.Add(1)
		c.wire.End(nil)
		if gone := s.strangers.Forget(&c.admission.place); taken && !gone && s.cfg.Descriptors != nil {
			s.cfg.Descriptors.Release()
		}
		c.memory.Close()
		turnAway(nc)
		return
	}
	go func() {
		defer s.open.Done()
		c.serve()
		s.mu.Lock()
		delete(s.conns, c.client.ID)
		s.mu.Unlock()
		if gaveWay := s.strangers.Forget(&c.admission.place); s.cfg.Descriptors != nil && !gaveWay {
			s.cfg.Descriptors.Release()
		}
	}()
}

// welcomeLocal serves a connection of this process in a goroutine of its own.
func (s *Server) welcomeLocal(nc net.Conn) {
	s.stats.accepted.Add(1)
	c := s.newConn(nc, nil)
	s.mu.Lock()
	s.conns[c.client.ID] = c
	s.open.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.open.Done()
		c.serve()
		s.mu.Lock()
		delete(s.conns, c.client.ID)
		s.mu.Unlock()
	}()
}

// turnAway tells a client that it is one too many. The text fits the empty send
// buffer. With TLS it would take a handshake, for which others would wait.
func turnAway(nc net.Conn) {
	if _, wrapped := nc.(interface{ NetConn() net.Conn }); !wrapped {
		nc.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		nc.Write([]byte("-" + errMaxClients + "\r\n"))
	}
	nc.Close()
}
