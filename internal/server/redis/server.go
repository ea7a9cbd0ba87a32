package redis

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/turnlog/turnlog/internal/handshakes"
	"github.com/turnlog/turnlog/internal/hangup"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// Server answers Redis clients. Make it with New, run it with Run.
type Server struct {
	cfg     Config
	engine  Engine
	log     *slog.Logger
	endings endings
	table   *command.Table
	backend *command.Backend
	// handlers are those of the connection itself, by the slot of the command.
	handlers []connHandler
	stats    *stats
	receive  *resp.Budget
	// receiveUnknown is for the requests of strangers, so that they take nothing from
	// users.
	receiveUnknown *resp.Budget
	shares         shares
	strangers      strangers
	handshakes     *handshakes.Limit
	hub            *hub
	pushing        pushBudget
	started        time.Time
	runID          string

	// work is the context of everything that is asked of the engine. It outlives
	// the context of Run by Config.ShutdownTimeout, so that what is in flight ends
	// well.
	work   context.Context
	cancel context.CancelFunc

	nextID atomic.Uint64
	open   sync.WaitGroup // connections being served

	blocked atomic.Int64 // requests that wait for something to happen to their keys

	mu    sync.Mutex
	conns map[uint64]*conn // by id
}

// New returns a Server that Run will start.
func New(cfg Config) *Server {
	cfg = cfg.withDefaults()
	t := command.NewTable()
	backend := command.NewBackend(t,
		command.Config{Engine: cfg.Engine, Now: cfg.Now, NodeID: cfg.NodeID, IDPaths: cfg.IDPaths})
	s := &Server{
		cfg: cfg, engine: cfg.Engine, log: cfg.Logger, table: t, backend: backend, handlers: bindHandlers(t),
		stats:   newStats(t),
		receive: resp.NewBudget(cfg.ReceiveBytes), receiveUnknown: resp.NewBudget(cfg.ReceiveBytes / 16), hub: newHub(),
		started: cfg.Now(), conns: make(map[uint64]*conn), runID: newRunID(),
		handshakes: handshakes.New(handshakes.Max),
	}
	s.pushing.each, s.pushing.all = cfg.PushBytes, cfg.PushBytesAll
	s.work, s.cancel = context.WithCancel(context.Background())
	return s
}

// Run accepts and serves connections until ctx ends. Then it stops accepting,
// answers the requests it has received, closes the connections, and returns nil.
// Writes whose outcome is not known when Config.ShutdownTimeout has passed are
// answered as unknown. Run may be called once.
func (s *Server) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.closeListeners)
	defer stop()
	s.engine.Receive(s.answer)
	var watching sync.WaitGroup
	watching.Go(func() { s.watchLeader(s.work) })
	defer watching.Wait()
	defer s.cancel()
	err := s.acceptAll(ctx)
	s.shutDown()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

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
			wait(ctx, nil, pause)
		}
	}
}

// welcome serves a connection in a goroutine of its own, if there may be one more.
func (s *Server) welcome(nc net.Conn) {
	s.stats.accepted.Add(1)
	keepAlive(nc, s.cfg.DeadPeerTimeout)
	taken := s.takeDescriptor()
	c := s.newConn(nc, s.cfg.Users)
	s.mu.Lock()
	full := len(s.conns) >= s.cfg.MaxClients || !taken
	if !full {
		s.conns[c.id] = c
		s.open.Add(1)
	}
	s.mu.Unlock()
	if full {
		s.stats.rejected.Add(1)
		c.hangUp(nil)
		if gone := s.strangers.forget(c); taken && !gone && s.cfg.Descriptors != nil {
			s.cfg.Descriptors.Release()
		}
		s.shares.release(c.memory.share)
		turnAway(nc)
		return
	}
	go func() {
		defer s.open.Done()
		c.serve()
		s.mu.Lock()
		delete(s.conns, c.id)
		s.mu.Unlock()
		if gaveWay := s.strangers.forget(c); s.cfg.Descriptors != nil && !gaveWay {
			s.cfg.Descriptors.Release()
		}
	}()
}

// welcomeLocal serves a connection of this process in a goroutine of its own.
func (s *Server) welcomeLocal(nc net.Conn) {
	s.stats.accepted.Add(1)
	c := s.newConn(nc, nil)
	s.mu.Lock()
	s.conns[c.id] = c
	s.open.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.open.Done()
		c.serve()
		s.mu.Lock()
		delete(s.conns, c.id)
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

// maxClients is how many connections may be open at the moment.
func (s *Server) maxClients() int {
	if s.cfg.Descriptors == nil {
		return s.cfg.MaxClients
	}
	return min(s.cfg.MaxClients, s.cfg.Descriptors.Size())
}

// keepAlive ends a connection whose peer has answered nothing for a time, neither
// probes nor data.
func keepAlive(nc net.Conn, timeout time.Duration) {
	if tcp, ok := socket(nc).(*net.TCPConn); ok {
		tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: timeout / 2, Interval: timeout / 6, Count: 3})
		if raw := hangup.Raw(tcp); raw != nil {
			raw.Control(func(fd uintptr) { boundUnanswered(fd, timeout) })
		}
	}
}

// socket returns what is under TLS, if it is that.
func socket(nc net.Conn) net.Conn {
	for {
		wrapped, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return nc
		}
		nc = wrapped.NetConn()
	}
}

func (s *Server) shutDown() {
	for _, c := range s.clients() {
		c.stop()
	}
	done := make(chan struct{})
	go func() {
		s.open.Wait()
		close(done)
	}()
	if wait(context.Background(), done, s.cfg.ShutdownTimeout) {
		return
	}
	s.log.Warn("redis: requests are still in flight at shutdown; their outcome is reported as unknown")
	s.cancel()
	if wait(context.Background(), done, time.Second) {
		return
	}
	for _, c := range s.clients() {
		c.wire.cutOff()
	}
	<-done
}

// clients returns the open connections.
func (s *Server) clients() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	cs := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		cs = append(cs, c)
	}
	return cs
}
