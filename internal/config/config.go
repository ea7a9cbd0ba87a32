package config

import (
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
	// HoldLevel keeps the cluster from going above a level; negative: nothing does.
	HoldLevel int

	// HTTPHosts are further names, comma-separated, under which clients address the
	// node over HTTP without TLS; HTTPOrigins the origins of web pages that may use it.
	HTTPHosts, HTTPOrigins string

	// UsersFile lists the users who may connect; empty: clients need not authenticate.
	UsersFile string
	// OpenMetrics lets everybody read /metrics, not only users.
	OpenMetrics bool
	// Of the RESP and HTTP addresses: PEM files with the certificate, its key, and
	// the authority whose certificates clients must show; empty: no TLS, or none.
	TLSCert, TLSKey, TLSClientCA string
	// Of the connections between nodes, which show certificates to each other.
	NodeTLSCert, NodeTLSKey, NodeTLSCA string
	// NodeTLSNames is "ID=NAME,NAME,…": what a node's certificate may be called instead
	// of by the node's id; without an ID, that of any node.
	NodeTLSNames string
	// ClusterSecretFile has what the nodes prove to each other that they know; empty:
	// nothing. ClusterSecretOptional has to do with nodes that prove nothing, too.
	ClusterSecretFile     string
	ClusterSecretOptional bool
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
		HoldLevel:       -1,
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
	fs.StringVar(&c.NodeID, "node-id", c.NodeID,
		"id of this node, unique in the cluster; it can be used again after the node was removed")
	fs.StringVar(&c.DataDir, "data-dir", c.DataDir, "directory of this node's log and state; created if missing")
	fs.StringVar(&c.RESPAddr, "resp-addr", c.RESPAddr, "address for Redis and turnlog clients")
	fs.StringVar(&c.HTTPAddr, "http-addr", c.HTTPAddr, "address for HTTP")
	fs.StringVar(&c.RaftAddr, "raft-addr", c.RaftAddr, "address for the other nodes")
	fs.StringVar(&c.RESPAdvertise, "resp-advertise", "", "RESP address that clients are told (default: --resp-addr)")
	fs.StringVar(&c.HTTPAdvertise, "http-advertise", "", "HTTP address that clients are told (default: --http-addr)")
	fs.StringVar(&c.HTTPHosts, "http-hosts", "",
		"names, as db1.example,db2.example, by which clients may address this node over HTTP without TLS, in "+
			"addition to IP addresses, localhost, and the hosts of --http-addr and --http-advertise; requests by "+
			"other names are rejected, since web pages may have sent them")
	fs.StringVar(&c.HTTPOrigins, "http-origins", "",
		"origins of web pages that may use this node over HTTP, as https://app.example,http://localhost:3000 "+
			"(default: none)")
	fs.StringVar(&c.RaftAdvertise, "raft-advertise", "", "address that the other nodes are told (default: --raft-addr)")
	fs.StringVar(&c.InitialCluster, "initial-cluster", "",
		"all nodes as n1=HOST:PORT,n2=HOST:PORT,n3=HOST:PORT, with their --raft-addr; the same on every node and "+
			"every start (default: this node alone)")
	fs.StringVar(&c.DialMap, "dial-map", "",
		"other addresses to dial for the given node-to-node addresses, as HOST:PORT=HOST:PORT,…")
	fs.BoolVar(&c.Join, "join", false,
		"if this node is new, wait until it is added to a running cluster with 'turnlog cluster join'")
	fs.IntVar(&c.HoldLevel, "hold-level", c.HoldLevel,
		"keep the cluster at this level, so that nodes can go back to the previous version after an upgrade; "+
			"'turnlog cluster status' shows the current level, which never falls; -1: the level rises when all "+
			"members run a version that supports it")
	fs.StringVar(&c.UsersFile, "users-file", "",
		"`file` of the users who may connect, made by 'turnlog user' (default: none, and no client needs to "+
			"authenticate)")
	fs.BoolVar(&c.OpenMetrics, "open-metrics", false, "let everyone read /metrics, not only users")
	fs.StringVar(&c.TLSCert, "tls-cert", "",
		"PEM file of the certificate that clients see, over Redis's protocol and HTTP (default: no TLS)")
	fs.StringVar(&c.TLSKey, "tls-key", "", "PEM file of its key")
	fs.StringVar(&c.TLSClientCA, "tls-client-ca", "",
		"PEM file of the authority whose certificates clients must show (default: none are required)")
	fs.StringVar(&c.NodeTLSCert, "node-tls-cert", "",
		"PEM file of the certificate that this node shows to the others (default: no TLS between nodes)")
	fs.StringVar(&c.NodeTLSKey, "node-tls-key", "", "PEM file of its key")
	fs.StringVar(&c.NodeTLSCA, "node-tls-ca", "",
		"PEM file of the authority that signs the certificates of the nodes; a certificate that it signs with a "+
			"node's id proves to be that node")
	fs.StringVar(&c.NodeTLSNames, "node-tls-names", "",
		"other names that certificates have for nodes, as n1=db1.example,n2=db2.example; a NAME without an id is "+
			"accepted for any node (default: a certificate must have the node's id as its common name or a DNS name)")
	fs.StringVar(&c.ClusterSecretFile, "cluster-secret-file", "",
		"file, for its owner only, with a secret that all nodes have and prove to each other; a second line is "+
			"accepted but not used (default: none)")
	fs.BoolVar(&c.ClusterSecretOptional, "cluster-secret-optional", false,
		"also accept nodes that do not prove the cluster secret, while it is being introduced")
	fs.BoolVar(&c.Insecure, "insecure", false, "allow listening beyond loopback without TLS and users")
	fs.StringVar(&c.LogEngine, "log-engine", c.LogEngine,
		"engine of the write-ahead log, wal or boltdb; a data directory keeps its first engine")
	fs.DurationVar(&c.ElectionTimeout, "election-timeout", c.ElectionTimeout,
		"how long a leader may be silent before another is elected")
	fs.Var(&c.LogCompactBytes, "log-compact-bytes",
		"size of the log at which a snapshot is taken and the log before it is truncated")
	fs.Var(&c.LogTailBytes, "log-tail-bytes",
		"size of the log that is kept before a snapshot; a node that lags further needs the snapshot")
	fs.Var(&c.SnapshotRate, "snapshot-rate",
		"bytes per second at which the whole state is sent to a node that needs it; 0: no limit")
	fs.Var(&c.MemoryBudget, "memory-budget", "memory for the state machine's recent data and caches")
	fs.Var(&c.MaxMessageBytes, "max-message-bytes", "largest payload of one message")
	fs.Var(&c.MaxAppendBytes, "max-append-bytes", "largest total payload of one append")
	fs.Var(&c.MaxReadBytes, "max-read-bytes", "payload bytes after which a read is cut off")
	fs.StringVar(&c.RedisIDPath, "redis-id-path", "",
		"paths of the unique ids in JSON elements that Redis clients push, so that a push that is sent again is "+
			"recognised, as NAMESPACE=data.id,id;…; the same on every node (default: none)")
	fs.StringVar(&c.LogLevel, "log-level", c.LogLevel, "debug, info, warn or error")
	fs.StringVar(&c.LogFormat, "log-format", c.LogFormat, "text or json")
	fs.StringVar(&c.PprofAddr, "pprof-addr", "",
		"loopback address for profiles of the process, under /debug/pprof/; port 0 picks a free one, which the log "+
			"shows (default: none)")
}
