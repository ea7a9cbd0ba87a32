package membership

import (
	"context"
	"log/slog"
	"time"

	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// Cluster is what a Policy asks of its node about the cluster.
type Cluster interface {
	// Configuration is the latest one, committed or not; empty before Raft runs.
	Configuration() Configuration
	// Recorded returns the incarnation of the data directory that the state records of a member;
	// empty: none.
	Recorded(id string) string
	// Sound reports whether the state can be relied on. One that was put aside records no node,
	// whatever the cluster does.
	Sound() bool
	// Applied is the last log entry that the state includes.
	Applied() uint64
	// LogEnd is where the log ends, as far as it is durable.
	LogEnd() raftlog.Position
	// WasMember reports whether the log tells that this node was a member at some time.
	WasMember() bool
	// Lacks reports whether this node's log surely does not have, and never had before it was compacted, the entry at
	// that position.
	Lacks(raftlog.Position) bool
	// Leader is the node that Raft follows, empty if there is none.
	Leader() string
	// Level is the cluster's level.
	Level() turn.ClusterLevel
}

// Config configures a Policy.
type Config struct {
	Identity func() identity.File // of this node
	Cluster  Cluster
	// Joins says that this node is to be added, and may have been a member before.
	Joins bool
	// Certified says that each node has a certificate of its own; Secured, that or a secret that
	// the nodes share.
	Certified, Secured bool
	// Grace is how long a node that was removed may stay connected, to learn of it.
	Grace time.Duration
	// Awaited reports whether a node is to tell what it saw of this one: see rollback.Detector.
	Awaited func(id string) bool
	// Members asks a member which members it knows, as of which log entry.
	Members func(ctx context.Context, id string) (ids []string, applied uint64, err error)
	// Advice is what to do with a data directory that cannot be used any more.
	Advice  string
	Removed error       // why a node stops that is no longer a member
	Fail    func(error) // stops the node
	Logger  *slog.Logger
}

// Policy decides with which nodes a node has to do. All methods may be called by any goroutine.
type Policy struct {
	cfg     Config
	removed removals
	reports reports
}

// New returns a Policy.
func New(c Config) *Policy { return &Policy{cfg: c} }

// Member reports whether a node is in the configuration or the state records it.
func (p *Policy) Member(id string) bool {
	_, member := p.cfg.Cluster.Configuration().Find(id)
	return member || p.cfg.Cluster.Recorded(id) != ""
}

// Replaced reports whether the cluster knows a node by another data directory than the one of
// the handshake: the node lost its data, or the directory was replaced since.
// If it had applied more than this node has, though, this node is the one that is behind: there the
// member has been removed and added again.
func (p *Policy) Replaced(r peer.Facts) bool {
	_, replaced := p.replaced(r)
	return replaced
}

// replaced is Replaced, and tells by which directory the cluster knows the node.
func (p *Policy) replaced(r peer.Facts) (known string, replaced bool) {
	applied := p.cfg.Cluster.Applied() // first: the record is as of this entry or a later one
	known = p.cfg.Cluster.Recorded(r.NodeID)
	return known, known != "" && known != r.Incarnation && r.Progress <= applied
}

// ahead reports whether a node's log is ahead of this one's.
func (p *Policy) ahead(r peer.Facts) bool {
	return p.cfg.Cluster.LogEnd().Before(raftlog.Position{Index: r.LogIndex, Term: r.LogTerm})
}
