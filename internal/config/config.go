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
	// Listen has the addresses to listen on, HOST:PORT.
	Listen Addresses
	// Advertise has the addresses that other nodes and clients are told; empty: as listened on.
	Advertise Addresses
	// Insecure permits listening beyond loopback without TLS and users.
	Insecure bool

	Cluster Cluster
	// ElectionTimeout is how long a leader may be silent.
	ElectionTimeout time.Duration
	NodeTLS         NodeTLS
	ClusterSecret   ClusterSecret

	// UsersFile lists the users who may connect; empty: clients need not authenticate.
	UsersFile string
	ClientTLS ClientTLS
	HTTP      HTTP
	// RedisIDPath is "NAMESPACE=path,path;NAMESPACE=path;…": where elements that
	// Redis clients push to lists carry an id. Empty: nowhere.
	RedisIDPath string
	Limits      Limits

	Log          Log
	SnapshotRate Size // a second, of the state to a node that needs all of it; 0: no bound
	MemoryBudget Size // for the state machine's memory

	Logging Logging
	Traces  Traces
	// PprofAddr is a loopback address for profiles of the process; empty: none.
	PprofAddr string
}

// Addresses are a node's, each HOST:PORT.
type Addresses struct {
	RESP, HTTP string // for clients
	Raft       string // for the other nodes
}

// Cluster is which other nodes there are.
type Cluster struct {
	// Initial is "n1=HOST:PORT,n2=HOST:PORT,…", node ids with their
	// node-to-node addresses. Empty: this node alone.
	Initial string
	// DialMap is "HOST:PORT=HOST:PORT,…": node-to-node addresses, and where this
	// node dials instead of them.
	DialMap string
	// Join makes an empty node wait until it is added to a running cluster.
	Join bool
	// Zone is where this node is, as the operator calls it; empty: it is not said.
	Zone string
	// LeaderPreference is how much this node is preferred as the leader; 0 on all nodes: none is.
	LeaderPreference int
	// HoldLevel keeps the cluster from going above a level; negative: nothing does.
	HoldLevel int
}

// ClientTLS has the PEM files of the addresses for clients: the certificate, its key, and the
// authority whose certificates clients must show. Empty: no TLS, or none.
type ClientTLS struct {
	Cert, Key, CA string
}

// NodeTLS has the PEM files for the connections between nodes, which show certificates to each
// other.
type NodeTLS struct {
	Cert, Key, CA string
	// Names is "ID=NAME,NAME,…": what a node's certificate may be called instead
	// of by the node's id; without an ID, that of any node.
	Names string
}

// ClusterSecret is what the nodes prove to each other that they know.
type ClusterSecret struct {
	File     string // empty: nothing
	Optional bool   // nodes that prove nothing are accepted, too
}

// HTTP is who may use the HTTP address.
type HTTP struct {
	// Hosts are further names, comma-separated, under which clients address the node without
	// TLS; Origins the origins of web pages that may use it.
	Hosts, Origins string
	// OpenMetrics lets everybody read /metrics, not only users.
	OpenMetrics bool
}

// Log is the write-ahead log.
type Log struct {
	Engine       string // wal, boltdb
	CompactBytes Size   // of log since the last snapshot call for a new one
	TailBytes    Size   // of log stay behind a snapshot
}

// Limits bound what clients send and get.
type Limits struct {
	MessageBytes, AppendBytes, ReadBytes Size
}

// Logging is what the node writes about itself.
type Logging struct {
	Level  string // debug, info, warn, error
	Format string // text, json
	// SlowRequest is from when on a request is logged that took long; 0: none is.
	SlowRequest time.Duration
}

// Traces is where spans of requests go.
type Traces struct {
	// Endpoint is the URL of a collector that takes OTLP over HTTP, without /v1/traces; empty: there are no spans.
	Endpoint string
	// Ratio is for how many of the requests that are part of no trace one begins, of 1.
	Ratio float64
}

// Default returns the settings that hold when nothing is configured: a single
// node on loopback.
func Default() Config {
	l := turn.DefaultLimits()
	return Config{
		NodeID:          "n1",
		DataDir:         "turnlog-data",
		Listen:          Addresses{RESP: "127.0.0.1:7379", HTTP: "127.0.0.1:7380", Raft: "127.0.0.1:7381"},
		Cluster:         Cluster{HoldLevel: -1},
		ElectionTimeout: 700 * time.Millisecond,
		Log:             Log{Engine: "wal", CompactBytes: 64 << 20, TailBytes: 64 << 20},
		SnapshotRate:    128 << 20,
		MemoryBudget:    512 << 20,
		Limits: Limits{MessageBytes: Size(l.MessageBytes), AppendBytes: Size(l.AppendBytes),
			ReadBytes: Size(l.ReadBytes)},
		Logging: Logging{Level: "info", Format: "text", SlowRequest: time.Second},
		Traces:  Traces{Ratio: 0.01},
	}
}
