package node

import (
	"context"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/turnlog/turnlog/internal/admintoken"
	"github.com/turnlog/turnlog/internal/broadcast"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/members"
	"github.com/turnlog/turnlog/internal/server/httpapi"
	"github.com/turnlog/turnlog/internal/server/redis"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/raftstore"
	"github.com/turnlog/turnlog/turn"
)

// Options are what a node gets from its process, in addition to its settings.
type Options struct {
	Version string
	Logger  *slog.Logger
	// Descriptors is how many files the process may have open.
	Descriptors int
	// SegmentBytes is the size of a file of the log, LogCache how much of it stays in memory; 0:
	// raftstore's defaults.
	SegmentBytes, LogCache int64
	// ProcessMetrics adds what Go's runtime and the system count of the process.
	ProcessMetrics bool
	// Tracer makes spans of requests; nil: none are made.
	Tracer *trace.Tracer
	// Extra are further servers: they run and end with those for clients, and if one fails
	// the node stops.
	Extra []func(context.Context) error
}

// Node is a member of a cluster with its servers. Open makes one, Run runs it.
type Node struct {
	log          *slog.Logger
	store        *raftstore.Node
	redis        *redis.Server
	http         *httpapi.Server
	respL, httpL net.Listener // nil: there is none
	local        *localListener
	registry     *prometheus.Registry
	extra        []func(context.Context) error
	secrets      secrets
	descriptors  *descriptors.Budget
}

// Open binds every address and opens every file; it starts nothing. cfg must be valid. The Node
// must be given to Run, or to Close.
func Open(cfg *config.Config, o Options) (_ *Node, err error) {
	n := &Node{log: o.Logger, extra: o.Extra, local: newLocalListener(), registry: prometheus.NewRegistry()}
	defer func() {
		if err != nil {
			n.Close()
		}
	}()
	if err := n.countDescriptors(o.Descriptors); err != nil {
		return nil, err
	}
	if n.secrets, err = openSecrets(cfg, n.log); err != nil {
		return nil, err
	}
	if n.respL, err = listen(cfg.Listen.RESP); err != nil {
		return nil, err
	}
	if n.httpL, err = listen(cfg.Listen.HTTP); err != nil {
		return nil, err
	}
	if err := n.openStore(cfg, o); err != nil {
		return nil, err
	}
	if err := n.descriptors.Check(); err != nil {
		return nil, err
	}
	if err := n.openServers(cfg, o); err != nil {
		return nil, err
	}
	if o.ProcessMetrics {
		err = registerProcess(n.registry)
	}
	return n, err
}

// listen listens on an address of TCP; empty: nowhere.
func listen(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	return net.Listen("tcp", addr)
}

// Dial opens a connection to the Redis server from this process, while Run runs. It has no
// address, and no user.
func (n *Node) Dial(ctx context.Context) (net.Conn, error) { return n.local.dial(ctx) }

// Ready reports whether the node can serve every request now, and if not why.
func (n *Node) Ready() (ok bool, reasons []string) { return n.store.Ready() }

// Leader returns the leader's id, empty if none is known, and a channel that is closed when that may
// have changed.
func (n *Node) Leader() (id string, changed <-chan struct{}) { return n.store.Leader() }

// AddNode makes an empty node that waits to be added a member: see members.Changes.
func (n *Node) AddNode(ctx context.Context, id, addr string) error {
	return n.store.Members().AddNode(ctx, id, addr)
}

// AddLearner makes such a node a member without a vote: see members.Changes.
func (n *Node) AddLearner(ctx context.Context, id, addr string) error {
	return n.store.Members().AddLearner(ctx, id, addr)
}

// Promote gives a learner a vote.
func (n *Node) Promote(ctx context.Context, id string) error {
	return n.store.Members().Promote(ctx, id)
}

// Demote takes a voter's vote.
func (n *Node) Demote(ctx context.Context, id string) error { return n.store.Members().Demote(ctx, id) }

// RemoveNode ends the membership of a node.
func (n *Node) RemoveNode(ctx context.Context, id string) error {
	return n.store.Members().RemoveNode(ctx, id)
}

// Metrics returns the metrics of the node and its servers.
func (n *Node) Metrics() prometheus.Gatherer { return n.registry }

// RESPAddr returns where the Redis server listens, empty if it does not.
func (n *Node) RESPAddr() string { return addrOf(n.respL) }

// HTTPAddr returns where the HTTP server listens, empty if there is none.
func (n *Node) HTTPAddr() string { return addrOf(n.httpL) }

// Close closes a Node that was not given to Run.
func (n *Node) Close() {
	if n.store != nil {
		_ = n.store.Close()
	}
	for _, l := range []net.Listener{n.respL, n.httpL} {
		if l != nil {
			l.Close()
		}
	}
}

// countDescriptors divides how many files the process may have open. Below what
// it needs, it would fail later: at the next segment of the log.
func (n *Node) countDescriptors(limit int) error {
	n.descriptors = descriptors.New(limit, func() int {
		if n.store == nil {
			return 0
		}
		return n.store.OpenFiles()
	})
	return n.descriptors.Check()
}

func (n *Node) openServers(cfg *config.Config, o Options) error {
	idPaths, err := cfg.IDPaths()
	if err != nil {
		return err
	}
	pool := n.descriptors.Pool()
	n.redis = redis.New(redis.Config{Listener: n.secrets.listener(n.respL), Local: n.local, Users: n.secrets.users,
		Engine: redisEngine{n.store, n.store.Casts()}, Logger: n.log, SlowRequest: cfg.Logging.SlowRequest,
		Tracer: o.Tracer, Version: o.Version, NodeID: cfg.NodeID, IDPaths: idPaths, Descriptors: pool})
	pool.Yields(n.redis.GiveWay)
	if n.httpL != nil {
		if err := n.openHTTP(cfg, o); err != nil {
			return err
		}
	}
	if o.Tracer != nil {
		if err := n.registry.Register(collector(func(out sink) { traceMetrics(out, o.Tracer.Stats()) })); err != nil {
			return err
		}
	}
	return registerMetrics(n.registry, n.store, n.redis, n.descriptors, n.secrets, o.Version)
}

func (n *Node) openHTTP(cfg *config.Config, o Options) (err error) {
	pool := n.descriptors.Pool()
	c := n.httpConfig(cfg)
	c.Registry, c.Version, c.Tracer, c.Descriptors = n.registry, o.Version, o.Tracer, pool
	if n.http, err = httpapi.New(c); err != nil {
		return err
	}
	pool.Yields(n.http.GiveWay)
	return nil
}

func (n *Node) httpConfig(cfg *config.Config) httpapi.Config {
	c := httpapi.Config{
		Engine: n.store, Admin: admin{n.store, n.store.Members()}, Logger: n.log, SlowRequest: cfg.Logging.SlowRequest,
		Users: n.secrets.users, OpenMetrics: cfg.HTTP.OpenMetrics, TLS: n.secrets.clientTLS(),
		Hosts: cfg.Hosts(), Origins: cfg.Origins(),
	}
	if n.secrets.users == nil {
		var err error
		// Without it the node serves all but administration, as on a full disk it must.
		if c.AdminToken, c.AdminTokenFile, err = admintoken.Write(cfg.DataDir, n.httpL.Addr()); err != nil {
			n.log.Warn("cannot write the admin token: this node cannot be administered over HTTP", "error", err)
			c.AdminToken = ""
		}
	}
	return c
}

// redisEngine gives the node the shape that the Redis server asks for.
type redisEngine struct {
	*raftstore.Node
	*broadcast.Broadcaster
}

// admin gives the node the shape that the HTTP server asks for.
type admin struct {
	*raftstore.Node
	*members.Changes
}

func (e redisEngine) Submit(ctx context.Context, op turn.Op) command.Pending {
	return e.Node.Submit(ctx, op)
}
