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

// welcome serves a connection, if there may be one more.
func (s *Server) welcome(nc net.Conn) {
	s.stats.accepted.Add(1)
	wire.KeepAlive(nc, s.cfg.DeadPeerTimeout)
	place := s.admission.Admit()
	if place == nil {
		s.stats.rejected.Add(1)
		turnAway(nc)
		return
	}
	s.serve(s.newConn(nc, s.cfg.Users, place))
}

// welcomeLocal serves a connection of this process.
func (s *Server) welcomeLocal(nc net.Conn) {
	s.stats.accepted.Add(1)
	s.serve(s.newConn(nc, nil, nil))
}

// serve serves a connection in a goroutine of its own.
func (s *Server) serve(c *conn) {
	s.conns.add(c)
	s.conns.serving.Go(func() {
		c.serve()
		s.conns.remove(c)
	})
}

// GiveWay closes the connection that has been unauthenticated for longest, and releases its descriptor for another
// listener. It reports whether there was one.
func (s *Server) GiveWay() bool { return s.admission.CloseOldest(1) }

// turnAway tells a client that it is one too many. The text fits the empty send
// buffer. With TLS it would take a handshake, for which others would wait.
func turnAway(nc net.Conn) {
	if _, wrapped := nc.(interface{ NetConn() net.Conn }); !wrapped {
		nc.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		nc.Write([]byte("-" + errMaxClients + "\r\n"))
	}
	nc.Close()
}
