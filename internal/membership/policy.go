package membership

import (
	"context"
	"fmt"
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

// Admit decides whether to have to do with another node: nil or a *peer.Refusal, or why this node stops.
func (p *Policy) Admit(m peer.Meeting) error {
	self := p.cfg.Identity()
	r := m.Remote
	if r.ClusterID != "" && self.ClusterID != "" && r.ClusterID != self.ClusterID {
		return &peer.Refusal{Code: peer.RefusedCluster,
			Reason: fmt.Sprintf("node %s belongs to cluster %s, node %s to cluster %s", r.NodeID, r.ClusterID,
				self.NodeID, self.ClusterID)}
	}
	if r.NodeID == self.NodeID && r.Incarnation != self.Incarnation {
		return &peer.Refusal{Code: peer.RefusedNode,
			Reason: fmt.Sprintf("there are two nodes with the id %s", r.NodeID)}
	}
	if known, replaced := p.replaced(r); replaced {
		return &peer.Refusal{Code: peer.RefusedIncarnation,
			Reason: fmt.Sprintf("the cluster knows node %s with another data directory (incarnation %s, not %s); a "+
				"node that lost its data "+
				"must not come back under its old name by itself: remove the member %s, then add it again",
				r.NodeID, known, r.Incarnation, r.NodeID)}
	}
	if refusal := p.admitLevel(r); refusal != nil {
		return refusal
	}
	if err := p.overtaken(r); err != nil {
		if m.Purpose == peer.Probe && !p.cfg.Secured {
			// Anyone may probe, and say what they like. A member connects by itself.
			p.cfg.Logger.Error("a probe is ahead of this node", "error", err)
			return &peer.Refusal{Code: peer.RefusedOther, Reason: err.Error()}
		}
		p.cfg.Fail(err)
		return err
	}
	if refusal := p.admitMember(m); refusal != nil {
		return refusal
	}
	return nil // not a nil *peer.Refusal
}

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

// admitLevel refuses a node whose version does not know the cluster's level: it could
// not read what the others write.
func (p *Policy) admitLevel(r peer.Facts) *peer.Refusal {
	level, known := p.cfg.Cluster.Level(), turn.ClusterLevel(r.Level)
	if known >= level {
		return nil
	}
	return &peer.Refusal{Code: peer.RefusedLevel,
		Reason: fmt.Sprintf("the cluster is at level %d, and the version of turnlog that node %s runs "+
			"knows levels up to %d: run the version of the other nodes there", level, r.NodeID, known)}
}

// overtaken returns why this node, the only voter, must stop: another node of the cluster has a
// log that is ahead. The log of a cluster's only voter is ahead of all others, unless an older
// copy of it was put back, from before other voters were added.
//
// Both log ends are compared as an election compares them. A copy that has been in as many
// terms by itself as the others meanwhile is not found out.
func (p *Policy) overtaken(r peer.Facts) error {
	self := p.cfg.Identity()
	others, voter := p.cfg.Cluster.Configuration().Voters(self.NodeID)
	if !voter || len(others) > 0 || self.ClusterID == "" || self.ClusterID != r.ClusterID || !p.ahead(r) {
		return nil
	}
	return fmt.Errorf("raftstore: this node is the only voter that it knows, and its log ends at %v, but node %s of "+
		"the same cluster "+
		"has %v: an older copy of this node's data was put back, and what it acknowledged since then is not in it; %s",
		p.cfg.Cluster.LogEnd(), r.NodeID, raftlog.Position{Index: r.LogIndex, Term: r.LogTerm}, p.cfg.Advice)
}

// ahead reports whether a node's log is ahead of this one's.
func (p *Policy) ahead(r peer.Facts) bool {
	return p.cfg.Cluster.LogEnd().Before(raftlog.Position{Index: r.LogIndex, Term: r.LogTerm})
}
