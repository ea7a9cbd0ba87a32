// Package flags finds the values of a node's settings, on the command line, in the environment
// and in a file. There is one list of settings: what Register registers. A setting has the same
// name everywhere, --data-dir on the command line, TURNLOG_DATA_DIR in the environment and
// data-dir: in the YAML file. The first of these that names it wins, in that order, before its
// default.
package flags

import (
	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/internal/config"
)

// Register registers every setting of c in fs, with its present value as the default.
func Register(fs *pflag.FlagSet, c *config.Config) {
	fs.StringVar(&c.NodeID, "node-id", c.NodeID,
		"id of this node, unique in the cluster; it can be used again after the node was removed")
	fs.StringVar(&c.DataDir, "data-dir", c.DataDir, "directory of this node's log and state; created if missing")
	fs.StringVar(&c.Listen.RESP, "resp-addr", c.Listen.RESP, "address for Redis and turnlog clients")
	fs.StringVar(&c.Listen.HTTP, "http-addr", c.Listen.HTTP, "address for HTTP")
	fs.StringVar(&c.Listen.Raft, "raft-addr", c.Listen.Raft, "address for the other nodes")
	fs.StringVar(&c.Advertise.RESP, "resp-advertise", "", "RESP address that clients are told (default: --resp-addr)")
	fs.StringVar(&c.Advertise.HTTP, "http-advertise", "", "HTTP address that clients are told (default: --http-addr)")
	fs.StringVar(&c.HTTP.Hosts, "http-hosts", "",
		"names, as db1.example,db2.example, by which clients may address this node over HTTP without TLS, in "+
			"addition to IP addresses, localhost, and the hosts of --http-addr and --http-advertise; requests by "+
			"other names are rejected, since web pages may have sent them")
	fs.StringVar(&c.HTTP.Origins, "http-origins", "",
		"origins of web pages that may use this node over HTTP, as https://app.example,http://localhost:3000 "+
			"(default: none)")
	fs.StringVar(&c.Advertise.Raft, "raft-advertise", "",
		"address that the other nodes are told (default: --raft-addr)")
	fs.StringVar(&c.Cluster.Initial, "initial-cluster", "",
		"all nodes as n1=HOST:PORT,n2=HOST:PORT,n3=HOST:PORT, with their --raft-addr; the same on every node and "+
			"every start (default: this node alone)")
	fs.StringVar(&c.Cluster.DialMap, "dial-map", "",
		"other addresses to dial for the given node-to-node addresses, as HOST:PORT=HOST:PORT,…")
	fs.BoolVar(&c.Cluster.Join, "join", false,
		"if this node is new, wait until it is added to a running cluster with 'turnlog cluster join'")
	fs.StringVar(&c.Cluster.Zone, "zone", "",
		"where this node is, as a zone of a cloud, a data centre or a rack; 'turnlog cluster status' shows it, and "+
			"warns if the failure of one zone would leave no majority (default: not said)")
	fs.IntVar(&c.Cluster.LeaderPreference, "leader-preference", 0,
		"leadership moves to the voter with the highest preference, from 0 to 1000, when it has been able to lead "+
			"for a while; 0 on all nodes: it stays where it is")
	fs.IntVar(&c.Cluster.HoldLevel, "hold-level", c.Cluster.HoldLevel,
		"keep the cluster at this level, so that nodes can go back to the previous version after an upgrade; "+
			"'turnlog cluster status' shows the current level, which never falls; -1: the level rises when all "+
			"members run a version that supports it")
	fs.StringVar(&c.UsersFile, "users-file", "",
		"`file` of the users who may connect, made by 'turnlog user' (default: none, and no client needs to "+
			"authenticate)")
	fs.BoolVar(&c.HTTP.OpenMetrics, "open-metrics", false, "let everyone read /metrics, not only users")
	fs.StringVar(&c.ClientTLS.Cert, "tls-cert", "",
		"PEM file of the certificate that clients see, over Redis's protocol and HTTP (default: no TLS)")
	fs.StringVar(&c.ClientTLS.Key, "tls-key", "", "PEM file of its key")
	fs.StringVar(&c.ClientTLS.CA, "tls-client-ca", "",
		"PEM file of the authority whose certificates clients must show (default: none are required)")
	fs.StringVar(&c.NodeTLS.Cert, "node-tls-cert", "",
		"PEM file of the certificate that this node shows to the others (default: no TLS between nodes)")
	fs.StringVar(&c.NodeTLS.Key, "node-tls-key", "", "PEM file of its key")
	fs.StringVar(&c.NodeTLS.CA, "node-tls-ca", "",
		"PEM file of the authority that signs the certificates of the nodes; a certificate that it signs with a "+
			"node's id proves to be that node")
	fs.StringVar(&c.NodeTLS.Names, "node-tls-names", "",
		"other names that certificates have for nodes, as n1=db1.example,n2=db2.example; a NAME without an id is "+
			"accepted for any node (default: a certificate must have the node's id as its common name or a DNS name)")
	fs.StringVar(&c.ClusterSecret.File, "cluster-secret-file", "",
		"file, for its owner only, with a secret that all nodes have and prove to each other; a second line is "+
			"accepted but not used (default: none)")
	fs.BoolVar(&c.ClusterSecret.Optional, "cluster-secret-optional", false,
		"also accept nodes that do not prove the cluster secret, while it is being introduced")
	fs.BoolVar(&c.Insecure, "insecure", false, "allow listening beyond loopback without TLS and users")
	fs.StringVar(&c.Log.Engine, "log-engine", c.Log.Engine,
		"engine of the write-ahead log, wal or boltdb; a data directory keeps its first engine")
	fs.DurationVar(&c.ElectionTimeout, "election-timeout", c.ElectionTimeout,
		"how long a leader may be silent before another is elected")
	fs.Var(&c.Log.CompactBytes, "log-compact-bytes",
		"size of the log at which a snapshot is taken and the log before it is truncated")
	fs.Var(&c.Log.TailBytes, "log-tail-bytes",
		"size of the log that is kept before a snapshot; a node that lags further needs the snapshot")
	fs.Var(&c.SnapshotRate, "snapshot-rate",
		"bytes per second at which the whole state is sent to a node that needs it; 0: no limit")
	fs.Var(&c.MemoryBudget, "memory-budget", "memory for the state machine's recent data and caches")
	fs.Var(&c.Limits.MessageBytes, "max-message-bytes", "largest payload of one message")
	fs.Var(&c.Limits.AppendBytes, "max-append-bytes", "largest total payload of one append")
	fs.Var(&c.Limits.ReadBytes, "max-read-bytes", "payload bytes after which a read is cut off; "+
		"a read has one message for each 64 of them at most, or 1,024, and with ids and 32 bytes for each message "+
		"a quarter more bytes than that, and never more than 95MiB. Limits of bytes are the same on every node")
	fs.StringVar(&c.RedisIDPath, "redis-id-path", "",
		"paths of the unique ids in JSON elements that Redis clients push, so that a push that is sent again is "+
			"recognised, as NAMESPACE=data.id,id;…; the same on every node (default: none)")
	fs.StringVar(&c.Logging.Level, "log-level", c.Logging.Level, "debug, info, warn or error")
	fs.StringVar(&c.Logging.Format, "log-format", c.Logging.Format, "text or json")
	fs.DurationVar(&c.Logging.SlowRequest, "log-slow-requests", c.Logging.SlowRequest,
		"log requests that take at least this long, one a second at most, without those that wait by their nature; "+
			"0: none")
	fs.StringVar(&c.Traces.Endpoint, "otlp-endpoint", "",
		"URL of a collector that takes traces by OTLP over HTTP, as http://localhost:4318; /v1/traces is added, and "+
			"OTEL_EXPORTER_OTLP_HEADERS in the environment has headers for it (default: none, and nothing is traced)")
	fs.Float64Var(&c.Traces.Ratio, "otlp-sample-ratio", c.Traces.Ratio,
		"for how many of the requests that are not part of a trace one begins, 0 to 1; with a trace, its client says "+
			"whether it is sampled")
	fs.StringVar(&c.PprofAddr, "pprof-addr", "",
		"loopback address for profiles of the process, under /debug/pprof/; port 0 picks a free one, which the log "+
			"shows (default: none)")
}
