package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/admintoken"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/server/httpapi"
	"github.com/turnlog/turnlog/internal/server/redis"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/raftstore"
	"github.com/turnlog/turnlog/turn"
)

// serve runs a node until ctx ends or the node must stop.
func (a *app) serve(ctx context.Context, cfg *config.Config) error {
	log, err := newLogger(a.stderr, cfg)
	if err != nil {
		return err
	}
	reloads, stop := catchReloads()
	defer stop()
	s, err := openServer(cfg, log)
	if err != nil {
		return fmt.Errorf("the node cannot start: %w", err)
	}
	log.Info("turnlog", "version", version, "node", cfg.NodeID, "data", cfg.DataDir,
		"resp", s.respL.Addr(), "http", s.httpL.Addr(), "raft", cfg.RaftAddr)
	if err := s.run(ctx, reloads); err != nil {
		return fmt.Errorf("the node stopped: %w", err)
	}
	log.Info("stopped")
	return nil
}

func newLogger(w io.Writer, cfg *config.Config) (*slog.Logger, error) {
	level, err := cfg.Level()
	if err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}

// server is a node with its servers.
type server struct {
	log          *slog.Logger
	node         *raftstore.Node
	redis        *redis.Server
	http         *httpapi.Server
	respL, httpL net.Listener
	pprofL       net.Listener // nil: no profiles
	secrets      secrets
	descriptors  *descriptors.Budget
}

// openServer binds every address and opens every file; it starts nothing.
func openServer(cfg *config.Config, log *slog.Logger) (_ *server, err error) {
	s := &server{log: log}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := s.countDescriptors(); err != nil {
		return nil, err
	}
	if s.secrets, err = openSecrets(cfg, log); err != nil {
		return nil, err
	}
	if s.respL, err = net.Listen("tcp", cfg.RESPAddr); err != nil {
		return nil, err
	}
	if s.httpL, err = net.Listen("tcp", cfg.HTTPAddr); err != nil {
		return nil, err
	}
	if cfg.PprofAddr != "" {
		if s.pprofL, err = net.Listen("tcp", cfg.PprofAddr); err != nil {
			return nil, err
		}
		log.Info("profiles", "url", "http://"+s.pprofL.Addr().String()+"/debug/pprof/")
	}
	if s.node, err = openNode(cfg, log, s.respL.Addr(), s.httpL.Addr(), s.secrets, s.descriptors); err != nil {
		return nil, err
	}
	if err := s.descriptors.Check(); err != nil {
		return nil, err
	}
	idPaths, err := cfg.IDPaths()
	if err != nil {
		return nil, err
	}
	redisPool, httpPool := s.descriptors.Pool(), s.descriptors.Pool()
	s.redis = redis.New(redis.Config{Listener: s.secrets.listener(s.respL), Users: s.secrets.users,
		Engine: redisEngine{s.node}, Logger: log, Version: version, NodeID: cfg.NodeID, IDPaths: idPaths,
		Descriptors: redisPool})
	registry := prometheus.NewRegistry()
	if s.http, err = httpapi.New(httpConfig(cfg, s, log, registry, httpPool)); err != nil {
		return nil, err
	}
	redisPool.Yields(s.redis.GiveWay)
	httpPool.Yields(s.http.GiveWay)
	return s, registerMetrics(registry, s.node, s.redis, s.descriptors)
}

func httpConfig(cfg *config.Config, s *server, log *slog.Logger, registry *prometheus.Registry,
	pool *descriptors.Pool) httpapi.Config {
	c := httpapi.Config{
		Engine: s.node, Admin: s.node, Logger: log, Registry: registry, Version: version,
		Users: s.secrets.users, OpenMetrics: cfg.OpenMetrics, TLS: s.secrets.clientTLS(), Descriptors: pool,
		Hosts: cfg.Hosts(), Origins: cfg.Origins(),
	}
	if s.secrets.users == nil {
		var err error
		// Without it the node serves all but administration, as on a full disk it must.
		if c.AdminToken, c.AdminTokenFile, err = admintoken.Write(cfg.DataDir, s.httpL.Addr()); err != nil {
			log.Warn("cannot write the admin token: this node cannot be administered over HTTP", "error", err)
			c.AdminToken = ""
		}
	}
	return c
}

// countDescriptors finds out how many files the process may have open. Below what
// it needs, it would fail later: at the next segment of the log.
func (s *server) countDescriptors() error {
	limit, err := descriptors.Limit()
	if err != nil {
		return err
	}
	s.descriptors = descriptors.New(limit, func() int {
		if s.node == nil {
			return 0
		}
		return s.node.OpenFiles()
	})
	return s.descriptors.Check()
}

// gcPercent is how much garbage, relative to what lives, is let lie: the memory
// limit says when it is too much. Go's default costs a tenth of all processor time.
const gcPercent = 400

func openNode(cfg *config.Config, log *slog.Logger, resp, http net.Addr, credentials secrets,
	d *descriptors.Budget) (*raftstore.Node, error) {
	peers, err := cfg.Peers()
	if err != nil {
		return nil, err
	}
	dials, err := cfg.Dials()
	if err != nil {
		return nil, err
	}
	var cluster map[string]string
	if cfg.InitialCluster != "" {
		cluster = make(map[string]string, len(peers))
		for _, p := range peers {
			cluster[p.ID] = p.Addr
		}
	}
	// The heap may use its part of the budget before it is collected, rather than
	// twice what lives; a quarter is for the mapped state file.
	debug.SetMemoryLimit(int64(cfg.MemoryBudget) * 3 / 4)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	return raftstore.Open(raftstore.Config{
		NodeID: cfg.NodeID, DataDir: cfg.DataDir,
		Peers: raftstore.Peers{
			Addr: cfg.RaftAddr, Advertise: cfg.RaftAdvertise,
			Dial: dialer(dials),
			TLS:  credentials.peerTLS(), Secret: credentials.cluster, Closed: closedPort(cfg),
			Greetings: d.Greetings(), Conns: d.Members(),
		},
		Clients: raftstore.ClientAddrs{
			RESPAddr: cmp.Or(cfg.RESPAdvertise, resp.String()), HTTPAddr: cmp.Or(cfg.HTTPAdvertise, http.String()),
		},
		InitialCluster: cluster, Join: cfg.Join,
		HoldLevel: cfg.Hold(),
		Limits:    cfg.Limits(),
		Log:       raftstore.Log{Engine: cfg.LogEngine},
		Consensus: raftstore.Consensus{Heartbeat: cfg.ElectionTimeout, Election: cfg.ElectionTimeout},
		Storage: raftstore.StorageBounds{CompactBytes: int64(cfg.LogCompactBytes), TailBytes: int64(cfg.LogTailBytes),
			SnapshotRate: cmp.Or(int64(cfg.SnapshotRate), -1)},
		State:  stateBudget(int(cfg.MemoryBudget)),
		Logger: log,
	})
}

// dialer dials another address where the map has one.
func dialer(dials map[string]string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", cmp.Or(dials[addr], addr))
	}
}

// stateBudget divides the memory: changes that are not flushed yet can take twice
// FlushBytes, and those of the last flush once; more than a third is left to
// requests, the log's cache and the collector. With less left, as by a larger cache of
// blocks, the collector runs more often, and takes more than the cache saves, whose misses
// are in the system's. With smaller flushes more of them touch each session.
func stateBudget(budget int) fsm.Config {
	return fsm.Config{FlushBytes: budget * 3 / 32, WindowBytes: budget / 16, MappedBytes: budget / 4,
		CacheBytes: budget / 32}
}

// close closes a server that was not run.
func (s *server) close() {
	if s.node != nil {
		_ = s.node.Close()
	}
	for _, l := range []net.Listener{s.respL, s.httpL, s.pprofL} {
		if l != nil {
			l.Close()
		}
	}
}

// run runs the servers until ctx ends, then the node until it has handed over: so
// what the servers still have in flight is finished. It returns why the node or a
// server failed, nil if none did.
func (s *server) run(ctx context.Context, reloads <-chan os.Signal) error {
	serversCtx, closeServers := context.WithCancelCause(ctx)
	defer closeServers(nil)
	nodeCtx, stopNode := context.WithCancel(context.WithoutCancel(ctx))
	defer stopNode()

	servers := []func() error{
		func() error { s.secrets.run(serversCtx, reloads, s.redis.UsersChanged); return nil },
		func() error { return s.redis.Run(serversCtx) },
		func() error { return s.http.Serve(serversCtx, s.httpL) },
	}
	if s.secrets.users != nil {
		servers = append(servers, func() error { s.secrets.users.Run(serversCtx); return nil })
	}
	if s.pprofL != nil {
		servers = append(servers, func() error { return servePprof(serversCtx, s.pprofL) })
	}
	ended := make(chan error, len(servers))
	nodeEnded := make(chan error, 1)
	go func() {
		err := s.node.Run(nodeCtx)
		closeServers(err)
		nodeEnded <- err
	}()
	for _, serve := range servers {
		go func() {
			err := serve()
			closeServers(err)
			ended <- err
		}()
	}
	context.AfterFunc(serversCtx, func() { s.log.Info("stopping") })
	var serverErr error // of the first that failed
	for range servers {
		if err := <-ended; serverErr == nil {
			serverErr = err
		}
	}
	stopNode()
	if err := <-nodeEnded; err != nil {
		return err
	}
	return serverErr
}

// redisEngine gives the node the shape that the Redis server asks for.
type redisEngine struct{ *raftstore.Node }

func (e redisEngine) Submit(ctx context.Context, op turn.Op) command.Pending {
	return e.Node.Submit(ctx, op)
}
