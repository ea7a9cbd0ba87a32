package node

import (
	"context"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/turnlog/turnlog/internal/admintoken"
	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/server/httpapi"
	"github.com/turnlog/turnlog/internal/server/redis"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/raftstore"
	"github.com/turnlog/turnlog/turn"
)

// Options are what a node gets from its process, in addition to its settings.
type Options struct {
	Version string
	Logger  *slog.Logger
	// Descriptors is how many files the process may have open.
	Descriptors int
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
	respL, httpL net.Listener
	extra        []func(context.Context) error
	secrets      secrets
	descriptors  *descriptors.Budget
}

// Open binds every address and opens every file; it starts nothing. cfg must be valid. The Node
// must be given to Run, or to Close.
func Open(cfg *config.Config, o Options) (_ *Node, err error) {
	n := &Node{log: o.Logger, extra: o.Extra}
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
	if n.respL, err = net.Listen("tcp", cfg.RESPAddr); err != nil {
		return nil, err
	}
	if n.httpL, err = net.Listen("tcp", cfg.HTTPAddr); err != nil {
		return nil, err
	}
	if err := n.openStore(cfg); err != nil {
		return nil, err
	}
	if err := n.descriptors.Check(); err != nil {
		return nil, err
	}
	return n, n.openServers(cfg, o.Version)
}

// RESPAddr returns where the Redis server listens.
func (n *Node) RESPAddr() net.Addr { return n.respL.Addr() }

// HTTPAddr returns where the HTTP server listens.
func (n *Node) HTTPAddr() net.Addr { return n.httpL.Addr() }

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

func (n *Node) openServers(cfg *config.Config, version string) error {
	idPaths, err := cfg.IDPaths()
	if err != nil {
		return err
	}
	redisPool, httpPool := n.descriptors.Pool(), n.descriptors.Pool()
	n.redis = redis.New(redis.Config{Listener: n.secrets.listener(n.respL), Users: n.secrets.users,
		Engine: redisEngine{n.store}, Logger: n.log, Version: version, NodeID: cfg.NodeID, IDPaths: idPaths,
		Descriptors: redisPool})
	registry := prometheus.NewRegistry()
	h := n.httpConfig(cfg)
	h.Registry, h.Version, h.Descriptors = registry, version, httpPool
	if n.http, err = httpapi.New(h); err != nil {
		return err
	}
	redisPool.Yields(n.redis.GiveWay)
	httpPool.Yields(n.http.GiveWay)
	return registerMetrics(registry, n.store, n.redis, n.descriptors)
}

func (n *Node) httpConfig(cfg *config.Config) httpapi.Config {
	c := httpapi.Config{
		Engine: n.store, Admin: n.store, Logger: n.log,
		Users: n.secrets.users, OpenMetrics: cfg.OpenMetrics, TLS: n.secrets.clientTLS(),
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
type redisEngine struct{ *raftstore.Node }

func (e redisEngine) Submit(ctx context.Context, op turn.Op) command.Pending {
	return e.Node.Submit(ctx, op)
}
