package raftstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// statusOf returns another node's view of itself, or this one's.
func (n *Node) statusOf(ctx context.Context, id string) (requests.Status, error) {
	if id == n.id {
		return n.status(), nil
	}
	return n.peers.Status(ctx, id)
}

func (n *Node) status() requests.Status {
	s := requests.Status{
		ID: n.id, Incarnation: n.data.Identity.Get().Incarnation,
		RESPAddr: n.cfg.Clients.RESPAddr, HTTPAddr: n.cfg.Clients.HTTPAddr,
		Role: n.role(), Last: max(n.data.Log.LastDurable(), n.data.Snapshots.Position().Index),
		NoLog: n.space.LogFull(), Wall: n.cfg.Clock.Now().UnixMilli(),
		KnownLevel: n.cfg.knownLevel(), HoldLevel: n.cfg.HoldLevel,
		Time: n.data.State.Clock(), Free: n.space.Free(), Version: n.cfg.Version,
		Zone: n.cfg.Zone, Preference: n.cfg.Preference.Node,
	}
	s.Appends, s.AppendNanos = n.data.Log.AppendTime()
	if short := n.space.Short(); short != nil {
		s.NoSpace, s.Space = true, short.Message
	}
	if term, _ := n.lead.Serves(); term != 0 {
		level := n.data.State.Level()
		s.Level = &level
	}
	s.Applied, _ = n.data.State.Applied()
	for _, m := range n.data.State.Members() {
		s.Members = append(s.Members, m.ID)
	}
	s.HashIndex, s.Hash = n.data.State.StateHash()
	_, s.Missing = n.data.Mark.Lost()
	damage, halted := n.data.State.Damage()
	s.Damaged, s.Halted = damage != nil, damage != nil && halted
	if r := n.raft.Load(); r != nil {
		s.Term = r.CurrentTerm()
	}
	return s
}

// Roles returns all roles that a node can have.
func Roles() []string {
	return []string{"leader", "follower", "candidate", "learner", requests.RoleRecovering, "starting", "stopping"}
}

// role returns what this node is at the moment: see turn.Node.
func (n *Node) role() string {
	r := n.raft.Load()
	if r == nil {
		return "starting"
	}
	_, missing := n.data.Mark.Lost()
	switch r.State() {
	case raft.Leader:
		return "leader"
	case raft.Candidate:
		if missing {
			return requests.RoleRecovering
		}
		return "candidate"
	case raft.Follower:
		if _, voter := n.raft.Voters(); !voter {
			return "learner"
		}
		if missing {
			return requests.RoleRecovering
		}
		return "follower"
	}
	return "stopping"
}

// Cluster describes the cluster as this node sees it; it asks every member for
// its state, and waits half a second at most.
func (n *Node) Cluster(ctx context.Context) (turn.Cluster, error) {
	c := turn.Cluster{ID: n.data.State.ClusterID(), Level: n.data.State.Level()}
	before := n.leadership()
	if why := n.space.Refusal(); why != nil {
		c.ReadOnly = why.Message
	}
	servers := n.raft.Configuration()
	c.Nodes = make([]turn.Node, len(servers))
	var wg sync.WaitGroup
	wg.Go(func() {
		attempt, cancel := context.WithTimeout(ctx, requests.StatusTime)
		defer cancel()
		_, c.Serving = n.reads.Index(attempt)
	})
	for i, s := range servers {
		wg.Go(func() { c.Nodes[i] = n.describe(ctx, s) })
	}
	wg.Wait()
	c.Leader, c.Term, c.Serving = n.leadership().since(before, c.Serving)
	slices.SortFunc(c.Nodes, func(a, b turn.Node) int { return strings.Compare(a.ID, b.ID) })
	return c, nil
}

// leadership is who leads, as a node knows it.
type leadership struct {
	leader string
	term   uint64
}

func (n *Node) leadership() (l leadership) {
	l.leader, _ = n.lead.Leader()
	_, l.term, _ = n.raft.State()
	return l
}

// since returns what is known now. That a leader was confirmed says nothing of this one, if it was another one
// when the confirmation was asked for.
func (l leadership) since(before leadership, confirmed bool) (leader string, term uint64, serving bool) {
	return l.leader, l.term, confirmed && l == before
}

func (n *Node) describe(ctx context.Context, s membership.Server) turn.Node {
	d := turn.Node{ID: s.ID, RaftAddr: s.Addr, Role: "unreachable", Voter: s.Voter, Problems: []string{}}
	for _, m := range n.data.State.Members() {
		if m.ID == d.ID {
			d.RESPAddr, d.HTTPAddr = m.RESPAddr, m.HTTPAddr
		}
	}
	st, err := n.statusOf(ctx, d.ID)
	if err != nil {
		return d
	}
	d.RESPAddr, d.HTTPAddr = st.RESPAddr, st.HTTPAddr
	d.Role, d.Reachable = st.Role, true
	d.Applied, d.Match = st.Applied, st.Last
	d.StateHash, d.HashIndex = st.Hash, st.HashIndex
	d.Level, d.HoldLevel = st.KnownLevel, st.HoldLevel
	d.Version, d.Time, d.DiskFree = st.Version, st.Time, st.Free
	d.Zone, d.LeaderPreference = st.Zone, st.Preference
	d.Problems = append(d.Problems, st.Problems()...)
	return d
}

// watchStart notes the commit index when a leader can first tell it. A node that
// is alone need not wait for an election to come about.
func (n *Node) watchStart(ctx context.Context) {
	if others, voter := n.raft.Voters(); voter && len(others) == 0 {
		n.standAlone(ctx)
	}
	for {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		index, ok := n.reads.Index(attempt)
		cancel()
		if ok {
			n.begun.Store(index + 1)
			return
		}
		_, changed := n.lead.Leader()
		if !signal.Wait(ctx, changed, 50*time.Millisecond) {
			return
		}
	}
}

// standAlone has this node, the only voter, stand for election as soon as it may.
func (n *Node) standAlone(ctx context.Context) {
	for n.ballot.Ready() != nil { // until exchange has found that there is no node to ask
		if !signal.Wait(ctx, nil, time.Millisecond) {
			return
		}
	}
	if err := n.trans.stand(ctx); err != nil {
		n.log.Debug("cannot hasten the election", "error", err)
	}
}

// Ready reports whether this node can serve every request now, and if not why.
func (n *Node) Ready() (ok bool, reasons []string) {
	r := n.raft.Load()
	switch {
	case n.failure.Reason() != nil:
		reasons = append(reasons, fmt.Sprintf("the node failed: %v", n.failure.Reason()))
	case n.stopping.Load():
		reasons = append(reasons, "the node is stopping")
	case r == nil:
		reasons = append(reasons, "the node is starting")
	}
	if len(reasons) > 0 {
		return false, reasons
	}
	if _, member := n.raft.Configuration().Find(n.id); !member {
		reasons = append(reasons, "the node is not a member of a cluster")
	}
	if l, missing := n.data.Mark.Lost(); missing {
		reasons = append(reasons, fmt.Sprintf("the node's log has lost %v, which no leader has sent again yet", l))
		leader, _ := n.lead.Leader()
		switch others, voter := n.raft.Voters(); {
		case leader != "":
		case voter && len(others) == 0:
			reasons = append(reasons, datadir.OnlyVoter)
		case l.Doubt > 0:
			reasons = append(reasons, n.detector.HowToElect())
		}
	}
	if leader, _ := n.lead.Leader(); leader == "" {
		reasons = append(reasons, "there is no leader")
		if how := n.detector.WaitsForRestored(); how != "" {
			reasons = append(reasons, how)
		}
	}
	if why := n.space.Refusal(); why != nil {
		reasons = append(reasons, "writes that need space are rejected: "+why.Message)
	}
	if age := n.writes.calls.Oldest(); age > n.cfg.Calls.LeaderWait {
		reasons = append(reasons,
			fmt.Sprintf("a write has been waiting for its outcome for %v", age.Round(100*time.Millisecond)))
	}
	if damage, halted := n.data.State.Damage(); halted {
		reasons = append(reasons,
			fmt.Sprintf("the state is damaged, and is being fetched from another node: %v", damage))
	}
	applied, _ := n.data.State.Applied()
	switch begun := n.begun.Load(); {
	case begun == 0:
		reasons = append(reasons, "it is not known yet how much there is to catch up with")
	case applied < begun-1:
		reasons = append(reasons, fmt.Sprintf("the node has applied log entry %d of %d", applied, begun-1))
	}
	return len(reasons) == 0, reasons
}

// Checksum has every node hash its whole state as of one log entry, and returns
// that entry's index and this node's hash.
func (n *Node) Checksum(ctx context.Context) (index uint64, hash string, err error) {
	r, err := n.Apply(ctx, &codec.Checksum{})
	if err != nil {
		return 0, "", err
	}
	if err := n.data.State.WaitApplied(ctx, r.Index); err != nil {
		return 0, "", unavailable("the node did not reach log entry %d: %v", r.Index, err)
	}
	for { // hashing follows the flush
		index, hash := n.data.State.StateHash()
		if index >= r.Index {
			return index, hash, nil
		}
		if damage, halted := n.data.State.Damage(); halted {
			return 0, "", unavailable("the state was not hashed, because it is damaged: %v", damage)
		}
		if !n.data.State.HashAwaited(r.Index) {
			return 0, "", unavailable("the state was not hashed, because another node's replaced it: try again")
		}
		select {
		case <-ctx.Done():
			return 0, "", unavailable("the state was not hashed in time: %v", ctx.Err())
		case <-n.failure.Known():
			return 0, "", unavailable("the state was not hashed: the node failed: %v", n.failure.Reason())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// Copies reports whether this node has the log up to an applied entry on disk, and how many others
// have: those that report that they have applied it, and at least as many as it takes to commit it. It
// returns when at least enough others are known to have it, when all have been asked, or when ctx ends.
func (n *Node) Copies(ctx context.Context, index uint64, enough int) (own bool, others int) {
	own = n.data.State.WaitApplied(ctx, index) == nil
	certain := 0
	if own && index > 0 {
		voters, voting := n.raft.Voters()
		certain = (len(voters) + 1) / 2 // beside this node
		if !voting {
			certain = len(voters)/2 + 1
		}
	}
	if certain >= enough {
		return own, certain
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ids := n.raft.Others()
	answers := make(chan bool, len(ids))
	for _, id := range ids {
		go func() {
			s, err := n.statusOf(ctx, id)
			answers <- err == nil && s.Applied >= index
		}()
	}
	for range ids {
		if <-answers {
			others++
		}
		if others >= enough {
			break
		}
	}
	return own, max(others, certain)
}
