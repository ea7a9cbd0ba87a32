package redis

import (
	"context"
	"net"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
	"github.com/turnlog/turnlog/internal/server/redis/requestmemory"
	"github.com/turnlog/turnlog/turn"
)

// newConn returns a connection of one of those users, or of a client that needs to be none: nil.
func (s *Server) newConn(nc net.Conn, users *auth.Users) *conn {
	now := s.cfg.Now()
	c := &conn{srv: s, id: s.nextID.Add(1), namespace: turn.DefaultNamespace, started: now, proto: 2}
	c.wire.srv, c.wire.nc = s, nc
	c.who.all = users
	c.order.Limit(maxReads)
	c.gone, c.hangUp = context.WithCancelCause(s.work)
	c.memory = s.openAccount(nc, users)
	c.tx.memory = c.memory
	c.in = resp.NewRequestReader(source{c}, resp.Limits{MaxRequest: s.cfg.MaxRequestBytes, Memory: c.memory})
	c.block.changed.L = &c.block.mu
	c.kept.budget, c.kept.max = c.memory, s.cfg.PipelineBytes
	c.replies = replies.New(resp.NewWriter(&c.wire), s.cfg.PipelineRequests, s.cfg.PipelineBytes, &s.pushing)
	c.info.proto, c.info.active, c.info.user = 2, now, defaultUser
	c.logOut()
	c.pacing = newPacing(nc)
	return c
}

func (s *Server) openAccount(nc net.Conn, users *auth.Users) *requestmemory.Account {
	if users == nil {
		return s.memory.OpenUnnamed(nc.RemoteAddr())
	}
	return s.memory.OpenStranger(nc.RemoteAddr())
}

// serve reads and starts requests until the input ends, then waits until all of
// them are answered.
func (c *conn) serve() {
	for more := c.wire.shakeHands(c.gone) == nil; more; {
		more = c.next()
	}
	c.hangUp(command.ErrLeft)
	c.unsubscribeAll()
	c.stopTails()
	c.replies.Close()
	c.wire.close()
	c.in.Close()
	c.kept.drop()
	c.memory.Close()
	c.unknow()
}
