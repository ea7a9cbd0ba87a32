package turnlog

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/node"
)

// Config configures an embedded node. Only Dir is required; the zero value of any other field means its
// default. A setting that `turnlog serve` has, too, follows the same rules. Relative names of files are those of the
// moment at which the node is opened: the program may change its working directory.
type Config struct {
	// Dir is the directory of this node's log and state. It is created if missing.
	Dir string
	// NodeID is unique in the cluster, and stays with the directory; default "n1".
	NodeID string

	Peers   Peers
	Servers Servers

	// ElectionTimeout is how long a leader may be silent before another node is elected; default 700
	// ms. A node that is alone does not wait.
	ElectionTimeout time.Duration
	// MemoryBudget bounds the memory, in bytes, for the recent data and the caches of the state;
	// default 64 MiB, at least 16 MiB. It includes neither requests in flight nor the program's own
	// garbage.
	MemoryBudget int64
	// Logger receives the node's log records; default: warnings and errors go to slog.Default().
	Logger *slog.Logger
}

// Peers says how a node connects to the other nodes of its cluster, and what it tells them of itself. The
// zero value is for a node that is alone.
type Peers struct {
	// Addr is the HOST:PORT to listen on for other nodes; empty: no node can join. Advertise is the
	// address that the others are told to dial; default: Addr.
	Addr, Advertise string
	// InitialCluster has the address of each node of a new cluster by its id, the same on all of them
	// and on every start. Empty: a cluster of this node alone, which others can join.
	InitialCluster map[string]string
	// Join makes a node with an empty directory wait until it is added to a running cluster.
	Join bool

	// Zone is where this node is: a zone of a cloud, a data centre, a rack. turn.Cluster shows it, and its
	// ZoneRisks the zones whose failure would leave no majority. At most 64 bytes without spaces; empty: it is
	// not said.
	Zone string
	// LeaderPreference, 0 to 1000, has leadership move to the voter with the highest number, once that has been
	// able to lead for 10 s. 0 on all nodes: leadership stays where it is.
	LeaderPreference int

	// TLSCert, TLSKey and TLSCA are PEM files: the certificate that this node shows to the others, its
	// key, and the authority that signs the certificates of all nodes.
	TLSCert, TLSKey, TLSCA string
	// SecretFile contains the secret by which nodes authenticate each other, for clusters without
	// TLS.
	SecretFile string
}

// Servers are the servers for clients in other processes. The zero value is none.
type Servers struct {
	// RESPAddr and HTTPAddr are the HOST:PORT to listen on for Redis and turnlog clients, and for HTTP;
	// empty: the node does not listen. RESPAdvertise and HTTPAdvertise are the addresses that clients
	// are told to dial; default: those on which the node listens.
	RESPAddr, HTTPAddr           string
	RESPAdvertise, HTTPAdvertise string
	// UsersFile lists the users who may connect; it is read when the node starts. Empty: anyone may.
	UsersFile string
	// TLSCert and TLSKey are PEM files of the certificate that clients see, and of its key; empty: no
	// TLS. TLSClientCA is a PEM file of the authority whose certificates clients must show; empty: they
	// need none.
	TLSCert, TLSKey, TLSClientCA string
	// Insecure permits listening beyond loopback without users and TLS, for clients and other nodes.
	Insecure bool
}

const (
	defaultMemory  = 64 << 20
	defaultSegment = 4 << 20  // a file of the log, of which two are allocated from the beginning
	defaultCompact = 16 << 20 // of log are kept before a snapshot replaces it
	aloneTail      = 64 << 10 // of log stay behind a snapshot if there is no other node to send it to
)

// openNode opens the node of a configuration.
func openNode(c Config) (*node.Node, error) {
	s := c.settings()
	if err := s.Validate(); err != nil {
		return nil, configError{err}
	}
	if err := makeAbsolute(&s); err != nil {
		return nil, err
	}
	limit, err := descriptors.Present()
	if err != nil {
		return nil, err
	}
	n, err := node.Open(&s, node.Options{Version: "embedded", Logger: logger(c.Logger), Descriptors: limit,
		SegmentBytes: defaultSegment, LogCache: int64(s.MemoryBudget) / 16})
	if err != nil {
		return nil, configError{err}
	}
	return n, nil
}

// makeAbsolute makes the names of files independent of the working directory, which the program may change while the
// node runs: the node makes further files, and reads certificates again.
func makeAbsolute(s *config.Config) (err error) {
	for _, name := range []*string{&s.DataDir, &s.UsersFile, &s.ClusterSecret.File, &s.NodeTLS.Cert, &s.NodeTLS.Key,
		&s.NodeTLS.CA, &s.ClientTLS.Cert, &s.ClientTLS.Key, &s.ClientTLS.CA} {
		if *name != "" && err == nil {
			*name, err = filepath.Abs(*name)
		}
	}
	return err
}

// settings returns c as the settings of a node.
func (c *Config) settings() config.Config {
	s := config.Default()
	s.Embedded, s.DataDir = true, c.Dir
	s.NodeID = cmp.Or(c.NodeID, s.NodeID)
	s.ElectionTimeout = cmp.Or(c.ElectionTimeout, s.ElectionTimeout)
	s.MemoryBudget = config.Size(cmp.Or(c.MemoryBudget, defaultMemory))
	s.Log.CompactBytes = defaultCompact

	p := &c.Peers
	s.Listen.Raft, s.Advertise.Raft = p.Addr, p.Advertise
	s.Cluster.Initial, s.Cluster.Join = pairs(p.InitialCluster), p.Join
	s.Cluster.Zone, s.Cluster.LeaderPreference = p.Zone, p.LeaderPreference
	s.NodeTLS.Cert, s.NodeTLS.Key, s.NodeTLS.CA, s.ClusterSecret.File = p.TLSCert, p.TLSKey, p.TLSCA, p.SecretFile
	if p.Addr == "" {
		s.Log.TailBytes = aloneTail
	}

	v := &c.Servers
	s.Listen.RESP, s.Listen.HTTP = v.RESPAddr, v.HTTPAddr
	s.Advertise.RESP, s.Advertise.HTTP = v.RESPAdvertise, v.HTTPAdvertise
	s.UsersFile, s.Insecure = v.UsersFile, v.Insecure
	s.ClientTLS.Cert, s.ClientTLS.Key, s.ClientTLS.CA = v.TLSCert, v.TLSKey, v.TLSClientCA
	return s
}

// pairs returns a map as the setting initial-cluster has it.
func pairs(m map[string]string) string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(m)) {
		list = append(list, id+"="+m[id])
	}
	return strings.Join(list, ",")
}

func logger(given *slog.Logger) *slog.Logger {
	if given != nil {
		return given
	}
	return slog.New(warnings{slog.Default().Handler()})
}

// warnings is a handler of warnings and errors.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
