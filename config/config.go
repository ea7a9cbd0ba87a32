package config

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/turn"
)

// Config is everything that a node needs to know to start.
type Config struct {
	NodeID  string
	DataDir string

	// Addresses to listen on, HOST:PORT.
	RESPAddr string
	HTTPAddr string
	RaftAddr string

	// Addresses that other nodes and clients are told; empty: as listened on.
	RESPAdvertise string
	HTTPAdvertise string
	RaftAdvertise string

	// InitialCluster is "n1=HOST:PORT,n2=HOST:PORT,…", node ids with their
	// node-to-node addresses. Empty: this node alone.
	InitialCluster string
	// DialMap is "HOST:PORT=HOST:PORT,…": node-to-node addresses, and where this
	// node dials instead of them.
	DialMap string
	// Join makes an empty node wait until it is added to a running cluster.
	Join bool

	// UsersFile names those who may connect; empty: anybody may do anything.
	UsersFile string
	// OpenMetrics lets everybody read /metrics, not only users.
	OpenMetrics bool
	// Of the RESP and HTTP addresses: PEM files with the certificate, its key, and
	// the authority whose certificates clients must show; empty: no TLS, or none.
	TLSCert, TLSKey, TLSClientCA string
	// Of the connections between nodes, which show certificates to each other.
	NodeTLSCert, NodeTLSKey, NodeTLSCA string
	// Insecure permits listening beyond loopback without TLS and users.
	Insecure bool

	LogEngine       string // wal, boltdb
	ElectionTimeout time.Duration
	LogCompactBytes Size // of log since the last snapshot call for a new one
	LogTailBytes    Size // of log stay behind a snapshot
	SnapshotRate    Size // a second, of the state to a node that needs all of it; 0: no bound
	MemoryBudget    Size // for the state machine's memory
	MaxMessageBytes Size
	MaxAppendBytes  Size
	MaxReadBytes    Size

	// RedisIDPath is "NAMESPACE=path,path;NAMESPACE=path;…": where elements that
	// Redis clients push to lists carry an id. Empty: nowhere.
	RedisIDPath string

	LogLevel  string // debug, info, warn, error
	LogFormat string // text, json

	// PprofAddr is a loopback address for profiles of the process; empty: none.
	PprofAddr string
}

// Default returns the settings that hold when nothing is configured: a single
// node on loopback.
func Default() Config {
	l := turn.DefaultLimits()
	return Config{
		NodeID:          "n1",
		DataDir:         "turnlog-data",
		RESPAddr:        "127.0.0.1:7379",
		HTTPAddr:        "127.0.0.1:7380",
		RaftAddr:        "127.0.0.1:7381",
		LogEngine:       "wal",
		ElectionTimeout: 700 * time.Millisecond,
		LogCompactBytes: 64 << 20,
		LogTailBytes:    64 << 20,
		SnapshotRate:    128 << 20,
		MemoryBudget:    512 << 20,
		MaxMessageBytes: Size(l.MessageBytes),
		MaxAppendBytes:  Size(l.AppendBytes),
		MaxReadBytes:    Size(l.ReadBytes),
		LogLevel:        "info",
		LogFormat:       "text",
	}
}

// Flags registers every setting in fs, with its present value as the default.
func (c *Config) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&c.NodeID, "node-id", c.NodeID, "name of this node, unique in the cluster and never used again for another")
	fs.StringVar(&c.DataDir, "data-dir", c.DataDir, "directory of this node's log and state; created if missing")
	fs.StringVar(&c.RESPAddr, "resp-addr", c.RESPAddr, "address for Redis and turnlog clients")
	fs.StringVar(&c.HTTPAddr, "http-addr", c.HTTPAddr, "address for HTTP")
	fs.StringVar(&c.RaftAddr, "raft-addr", c.RaftAddr, "address for the other nodes")
	fs.StringVar(&c.RESPAdvertise, "resp-advertise", "", "RESP address that clients are told (default: --resp-addr)")
	fs.StringVar(&c.HTTPAdvertise, "http-advertise", "", "HTTP address that clients are told (default: --http-addr)")
	fs.StringVar(&c.RaftAdvertise, "raft-advertise", "", "address that the other nodes are told (default: --raft-addr)")
	fs.StringVar(&c.InitialCluster, "initial-cluster", "", "all nodes as n1=HOST:PORT,n2=HOST:PORT,n3=HOST:PORT, with their --raft-addr; the same on every node and every start (default: this node alone)")
	fs.StringVar(&c.DialMap, "dial-map", "", "node-to-node addresses that are reached at another address from here, as HOST:PORT=HOST:PORT,…")
	fs.BoolVar(&c.Join, "join", false, "if this node is new, wait until `turnlog cluster join` adds it to a running cluster")
	fs.StringVar(&c.UsersFile, "users-file", "", "file of those who may connect, made by `turnlog user` (default: anybody may do anything)")
	fs.BoolVar(&c.OpenMetrics, "open-metrics", false, "let everybody read /metrics, not only users")
	fs.StringVar(&c.TLSCert, "tls-cert", "", "PEM file of the certificate that clients see, over Redis's protocol and HTTP (default: no TLS)")
	fs.StringVar(&c.TLSKey, "tls-key", "", "PEM file of its key")
	fs.StringVar(&c.TLSClientCA, "tls-client-ca", "", "PEM file of the authority whose certificates clients must show (default: they need none)")
	fs.StringVar(&c.NodeTLSCert, "node-tls-cert", "", "PEM file of the certificate that this node shows to the others (default: no TLS between nodes)")
	fs.StringVar(&c.NodeTLSKey, "node-tls-key", "", "PEM file of its key")
	fs.StringVar(&c.NodeTLSCA, "node-tls-ca", "", "PEM file of the authority that signs the certificates of the nodes, and of nobody else who is not trusted as one")
	fs.BoolVar(&c.Insecure, "insecure", false, "allow listening beyond loopback without TLS and users")
	fs.StringVar(&c.LogEngine, "log-engine", c.LogEngine, "engine of the write-ahead log, wal or boltdb; a data directory keeps the one it began with")
	fs.DurationVar(&c.ElectionTimeout, "election-timeout", c.ElectionTimeout, "silence of the leader after which another is elected")
	fs.Var(&c.LogCompactBytes, "log-compact-bytes", "length of log after which a snapshot is taken and the log behind it dropped")
	fs.Var(&c.LogTailBytes, "log-tail-bytes", "length of log that is kept behind a snapshot; a node that lags further needs the snapshot")
	fs.Var(&c.SnapshotRate, "snapshot-rate", "bytes a second at which a node that needs the whole state is sent it; 0: as fast as it can")
	fs.Var(&c.MemoryBudget, "memory-budget", "memory for the state machine's recent data and caches")
	fs.Var(&c.MaxMessageBytes, "max-message-bytes", "largest payload of one message")
	fs.Var(&c.MaxAppendBytes, "max-append-bytes", "largest payloads of one append together")
	fs.Var(&c.MaxReadBytes, "max-read-bytes", "payload bytes after which an answer is cut")
	fs.StringVar(&c.RedisIDPath, "redis-id-path", "", "where JSON elements that Redis clients push carry a unique id, so that one that is sent again is recognised, as NAMESPACE=data.id,id;…; the same on every node (default: nowhere)")
	fs.StringVar(&c.LogLevel, "log-level", c.LogLevel, "debug, info, warn or error")
	fs.StringVar(&c.LogFormat, "log-format", c.LogFormat, "text or json")
	fs.StringVar(&c.PprofAddr, "pprof-addr", "", "loopback address for profiles of the process, under /debug/pprof/; port 0 takes a free one, which the log tells (default: none)")
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	if c.NodeID == "" || len(c.NodeID) > 64 || strings.ContainsAny(c.NodeID, "=, \t\n/") {
		return fmt.Errorf("node-id %q: must have 1 to 64 bytes and no '=', ',', '/' or spaces", c.NodeID)
	}
	if c.DataDir == "" {
		return fmt.Errorf("data-dir must not be empty")
	}
	if err := c.checkTLS(); err != nil {
		return err
	}
	if err := c.checkAddresses(); err != nil {
		return err
	}
	if err := c.checkPprof(); err != nil {
		return err
	}
	if _, err := c.Level(); err != nil {
		return err
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return fmt.Errorf("log-format %q: must be text or json", c.LogFormat)
	}
	if c.LogEngine != "wal" && c.LogEngine != "boltdb" {
		return fmt.Errorf("log-engine %q: must be wal or boltdb", c.LogEngine)
	}
	if c.ElectionTimeout < 50*time.Millisecond || c.ElectionTimeout > time.Minute {
		return fmt.Errorf("election-timeout %s: must be 50ms to 1m", c.ElectionTimeout)
	}
	if c.LogCompactBytes < 64<<10 || c.LogTailBytes < 64<<10 {
		return fmt.Errorf("log-compact-bytes %s, log-tail-bytes %s: at least 64KiB each are needed", c.LogCompactBytes.String(), c.LogTailBytes.String())
	}
	if c.SnapshotRate != 0 && c.SnapshotRate < 1<<20 {
		return fmt.Errorf("snapshot-rate %s: must be 1MiB or more, or 0 for no bound: a node that is sent the state more slowly may never catch up", c.SnapshotRate.String())
	}
	if c.MemoryBudget < 16<<20 {
		return fmt.Errorf("memory-budget %s: at least 16MiB are needed", c.MemoryBudget.String())
	}
	if c.MaxMessageBytes <= 0 || c.MaxAppendBytes < c.MaxMessageBytes || c.MaxReadBytes < c.MaxAppendBytes {
		return fmt.Errorf("limits must satisfy 0 < max-message-bytes (%s) <= max-append-bytes (%s) <= max-read-bytes (%s)",
			c.MaxMessageBytes.String(), c.MaxAppendBytes.String(), c.MaxReadBytes.String())
	}
	if _, err := c.Dials(); err != nil {
		return err
	}
	if _, err := c.IDPaths(); err != nil {
		return err
	}
	_, err := c.Peers()
	return err
}

// Dials returns DialMap as a map.
func (c *Config) Dials() (map[string]string, error) {
	dials := map[string]string{}
	if c.DialMap == "" {
		return dials, nil
	}
	for part := range strings.SplitSeq(c.DialMap, ",") {
		from, to, ok := strings.Cut(strings.TrimSpace(part), "=")
		_, _, errFrom := net.SplitHostPort(from)
		_, _, errTo := net.SplitHostPort(to)
		if !ok || errFrom != nil || errTo != nil {
			return nil, fmt.Errorf("dial-map: %q is not HOST:PORT=HOST:PORT", part)
		}
		dials[from] = to
	}
	return dials, nil
}

// IDPaths returns RedisIDPath by namespace: paths, each with a name for every level.
func (c *Config) IDPaths() (map[string][][]string, error) {
	all := map[string][][]string{}
	for part := range strings.SplitSeq(c.RedisIDPath, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		ns, paths, _ := strings.Cut(part, "=")
		if err := (&turn.Count{Namespace: ns}).Validate(c.Limits()); err != nil {
			return nil, fmt.Errorf("redis-id-path %q: %w", part, err)
		}
		for path := range strings.SplitSeq(paths, ",") {
			names := strings.Split(path, ".")
			if slices.Contains(names, "") {
				return nil, fmt.Errorf("redis-id-path %q: must be NAMESPACE=path,path, a path being names with dots between them", part)
			}
			all[ns] = append(all[ns], names)
		}
	}
	return all, nil
}

func (c *Config) checkAddresses() error {
	clients, nodes := c.UsersFile != "" && c.TLSCert != "", c.NodeTLSCert != ""
	const forClients, forNodes = "users-file, tls-cert and tls-key", "node-tls-cert, node-tls-key and node-tls-ca"
	for _, a := range []struct {
		name, addr string
		protected  bool
		needs      string
	}{
		{"resp-addr", c.RESPAddr, clients, forClients}, {"http-addr", c.HTTPAddr, clients, forClients}, {"raft-addr", c.RaftAddr, nodes, forNodes},
	} {
		host, _, err := net.SplitHostPort(a.addr)
		if err != nil {
			return fmt.Errorf("%s %q: must be HOST:PORT", a.name, a.addr)
		}
		if !c.Insecure && !a.protected && !isLoopback(host) {
			return fmt.Errorf("%s %s is reachable from other machines, and anyone who reaches it could read and change every conversation: "+
				"set %s, listen on loopback, or give --insecure if the network itself is protected", a.name, a.addr, a.needs)
		}
	}
	for _, a := range []struct{ name, addr string }{
		{"resp-advertise", c.RESPAdvertise}, {"http-advertise", c.HTTPAdvertise}, {"raft-advertise", c.RaftAdvertise},
	} {
		if _, _, err := net.SplitHostPort(a.addr); a.addr != "" && err != nil {
			return fmt.Errorf("%s %q: must be HOST:PORT", a.name, a.addr)
		}
	}
	return nil
}

// checkTLS refuses half of what TLS needs: it would be none.
func (c *Config) checkTLS() error {
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return fmt.Errorf("tls-cert and tls-key: both are needed, or none")
	case c.TLSClientCA != "" && c.TLSCert == "":
		return fmt.Errorf("tls-client-ca: needs tls-cert and tls-key")
	case c.OpenMetrics && c.UsersFile == "":
		return fmt.Errorf("open-metrics: means nothing without users-file; everybody reads /metrics then")
	case (c.NodeTLSCert == "") != (c.NodeTLSKey == "") || (c.NodeTLSCert == "") != (c.NodeTLSCA == ""):
		return fmt.Errorf("node-tls-cert, node-tls-key and node-tls-ca: all of them are needed, or none")
	}
	return nil
}

func (c *Config) checkPprof() error {
	if c.PprofAddr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(c.PprofAddr)
	if err != nil || !isLoopback(host) {
		return fmt.Errorf("pprof-addr %q: must be HOST:PORT on loopback", c.PprofAddr)
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Level returns LogLevel as slog knows it.
func (c *Config) Level() (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return 0, fmt.Errorf("log-level %q: must be debug, info, warn or error", c.LogLevel)
	}
	return l, nil
}

// Limits returns the limits of requests.
func (c *Config) Limits() turn.Limits {
	l := turn.DefaultLimits()
	l.MessageBytes = int(c.MaxMessageBytes)
	l.AppendBytes = int(c.MaxAppendBytes)
	l.ReadBytes = int(c.MaxReadBytes)
	return l
}

// Peer is a node of the initial cluster.
type Peer struct {
	ID   string
	Addr string // node-to-node address
}

// Peers returns the nodes of InitialCluster ordered by id, or this node alone.
func (c *Config) Peers() ([]Peer, error) {
	self := c.RaftAddr
	if c.RaftAdvertise != "" {
		self = c.RaftAdvertise
	}
	if c.InitialCluster == "" {
		return []Peer{{c.NodeID, self}}, nil
	}
	var peers []Peer
	seen := map[string]bool{} // ids and addresses
	for part := range strings.SplitSeq(c.InitialCluster, ",") {
		id, addr, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || id == "" {
			return nil, fmt.Errorf("initial-cluster: %q is not ID=HOST:PORT", part)
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("initial-cluster: %q of node %s is not HOST:PORT", addr, id)
		}
		if seen[id] || seen[addr] {
			return nil, fmt.Errorf("initial-cluster: %s stands twice", part)
		}
		seen[id], seen[addr] = true, true
		peers = append(peers, Peer{id, addr})
	}
	sort.Slice(peers, func(i, j int) bool { return peers[i].ID < peers[j].ID })
	return peers, c.checkSelf(peers, self)
}

func (c *Config) checkSelf(peers []Peer, self string) error {
	for _, p := range peers {
		if p.ID != c.NodeID {
			continue
		}
		if p.Addr != self {
			return fmt.Errorf("initial-cluster says that %s is at %s, but this node's address is %s (raft-addr or raft-advertise)", p.ID, p.Addr, self)
		}
		return nil
	}
	if c.Join {
		return nil
	}
	return fmt.Errorf("initial-cluster does not name this node, %s", c.NodeID)
}
