package config

import (
	"time"

	"github.com/turnlog/turnlog/turn"
)

// Config is everything that a node needs to know to start.
type Config struct {
	NodeID  string
	DataDir string

	// Embedded is for a node in another program: it does not listen where an address is empty.
	Embedded bool
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
