package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/handshakes"
	"github.com/turnlog/turnlog/internal/server/admission"
	"github.com/turnlog/turnlog/internal/server/memory"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/pubsub"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
	"github.com/turnlog/turnlog/internal/server/redis/requestmemory"
	"github.com/turnlog/turnlog/internal/server/redis/wire"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/internal/throttle"
)

// Server answers Redis clients. Make it with New, run it with Run.
type Server struct {
	cfg     Config
	engine  Engine
	log     *slog.Logger
	wires   wire.Shared
	slow    *throttle.Slow
	table   *command.Table
	backend *command.Backend
	// handlers are those of the connection itself, by the slot of the command.
	handlers  []connHandler
	stats     *stats
	memory    *requestmemory.Pool
	replying  *memory.Budget // for replies
	admission *admission.Control
	conns     openConns
	hub       *pubsub.Hub
	pushing   replies.Budget
	started   time.Time
	runID     string

	// work is the context of everything that is asked of the engine. It outlives
	// the context of Run by Config.ShutdownTimeout, so that what is in flight ends
	// well.
	work   context.Context
	cancel context.CancelFunc

	nextID  atomic.Uint64
	blocked atomic.Int64 // requests that wait for something to happen to their keys
}

// New returns a Server that Run will start.
func New(cfg Config) *Server {
	cfg = cfg.withDefaults()
	t := command.NewTable()
	backend := command.NewBackend(t,
		command.Config{Engine: cfg.Engine, Now: cfg.Now, NodeID: cfg.NodeID, IDPaths: cfg.IDPaths})
	s := &Server{
		cfg: cfg, engine: cfg.Engine, log: cfg.Logger, table: t, backend: backend, handlers: bindHandlers(t),
		stats: newStats(t), slow: throttle.NewSlow(cfg.SlowRequest, cfg.Logger),
		admission: admission.New(cfg.MaxClients, cfg.Descriptors),
		memory:    requestmemory.New(cfg.ReceiveBytes), replying: memory.New(cfg.ReplyBytes), hub: pubsub.New(cfg.Engine),
		started: cfg.Now(), conns: openConns{byID: make(map[uint64]*conn)}, runID: newRunID(),
		wires: wire.Shared{Log: cfg.Logger, ReadTimeout: cfg.ReadTimeout, WriteTimeout: cfg.WriteTimeout,
			KeptBytes: cfg.PipelineBytes, Handshakes: handshakes.New(handshakes.Max)},
	}
	s.pushing.Each, s.pushing.All = cfg.PushBytes, cfg.PushBytesAll
	s.work, s.cancel = context.WithCancel(context.Background())
	return s
}

// newRunID names this run of the server.
func newRunID() string {
	var b [20]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Run accepts and serves connections until ctx ends. Then it stops accepting,
// answers the requests it has received, closes the connections, and returns nil.
// Writes whose outcome is not known when Config.ShutdownTimeout has passed are
// answered as unknown. Run may be called once.
func (s *Server) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.closeListeners)
	defer stop()
	s.engine.Receive(s.hub.Answer)
	var watching sync.WaitGroup
	watching.Go(func() { s.hub.WatchLeader(s.work, s.engine) })
	defer watching.Wait()
	defer s.cancel()
	err := s.acceptAll(ctx)
	s.shutDown()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (s *Server) shutDown() {
	for _, c := range s.conns.all() {
		c.wire.Stop()
	}
	done := make(chan struct{})
	go func() {
		s.conns.serving.Wait()
		close(done)
	}()
	if closedWithin(done, s.cfg.ShutdownTimeout) {
		return
	}
	s.log.Warn("redis: requests are still in flight at shutdown; their outcome is reported as unknown")
	s.cancel()
	if closedWithin(done, time.Second) {
		return
	}
	for _, c := range s.conns.all() {
		c.wire.CutOff()
	}
	<-done
}

func closedWithin(done <-chan struct{}, d time.Duration) bool {
	signal.Wait(context.Background(), done, d)
	return signal.Closed(done)
}
