package redis

import (
	"net"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/admission"
	"github.com/turnlog/turnlog/internal/server/redis/blocked"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/inflight"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
	"github.com/turnlog/turnlog/internal/server/redis/requestmemory"
	"github.com/turnlog/turnlog/internal/server/redis/transaction"
	"github.com/turnlog/turnlog/internal/server/redis/wire"
	"github.com/turnlog/turnlog/turn"
)

// newConn returns a connection of one of those users, or of a client that needs to be none: nil.
func (s *Server) newConn(nc net.Conn, users *auth.Users, place *admission.Place) *conn {
	now := s.cfg.Now()
	c := &conn{srv: s, place: place, namespace: turn.DefaultNamespace, proto: 2, asking: s.work}
	c.who.all = users
	c.order.Limit(maxReads)
	c.memory = s.openAccount(nc, users)
	c.wire = wire.New(s.work, nc, &s.wires, c.memory)
	c.tx = transaction.New(c.memory, s.cfg.PipelineBytes)
	c.subs = s.hub.NewSubscriber(receiver{c}, c.memory)
	c.in = resp.NewRequestReader(c.wire.Input(func() { c.replies.Flush() }),
		resp.Limits{MaxRequest: s.cfg.MaxRequestBytes, Memory: c.memory})
	c.block = blocked.New(c.waits)
	c.replies = replies.New(resp.NewWriter(c.wire), s.cfg.PipelineRequests, s.cfg.PipelineBytes, &s.pushing)
	c.client.ID, c.client.Started, c.client.Blocked = s.nextID.Add(1), now, c.block.Waits
	c.client.Remote, c.client.Local = nc.RemoteAddr(), nc.LocalAddr()
	c.client.SetProtocol(2)
	c.client.Received(now, "")
	c.client.SetUser(nil, auth.Login{}, defaultUser)
	c.logOut()
	c.pacing = inflight.NewPacing(nc)
	return c
}

func (s *Server) openAccount(nc net.Conn, users *auth.Users) *requestmemory.Account {
	if users == nil {
		return s.memory.OpenUnnamed(nc.RemoteAddr())
	}
	return s.memory.OpenUnauthenticated(nc.RemoteAddr())
}

// serve reads and starts requests until the input ends, then waits until all of
// them are answered.
func (c *conn) serve() {
	for more := c.wire.ShakeHands() == nil; more; {
		more = c.next()
	}
	c.wire.End(command.ErrLeft)
	c.subs.Close()
	c.noteSubscriptions()
	c.tails.stopAll()
	c.replies.Close()
	c.wire.Close()
	c.in.Close()
	c.memory.Close()
	c.place.Close()
}
