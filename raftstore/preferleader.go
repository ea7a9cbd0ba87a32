package raftstore

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/preference"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/requests"
)

const (
	// A voter that takes longer than that to answer, or whose log takes longer for an append, is too slow to lead
	// because it is preferred.
	slowAnswer = 250 * time.Millisecond
	slowAppend = 100 * time.Millisecond
	// preferTime bounds how long a transfer to a preferred voter may hold up calls, which wait 2.5 s for a leader.
	preferTime = time.Second
)

// preferLeader transfers leadership from this node to a voter that is preferred to it, when that has been able to lead
// for a while.
func (n *Node) preferLeader(ctx context.Context) {
	tick := time.NewTicker(n.cfg.Preference.Settle / 5)
	defer tick.Stop()
	p := preferred{node: n, chooser: preference.New(n.cfg.Preference.Settle), changes: n.lead.Changes.Load(),
		before: make(map[string]requests.Status)}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.check(ctx)
		}
	}
}

// preferred is what a leader knows of the voters that are preferred to it.
type preferred struct {
	node    *Node
	chooser *preference.Chooser
	changes uint64                     // of the leader, that the chooser was told
	before  map[string]requests.Status // by id, what voters said the last time
	had     uint64                     // the last entry that this node had applied then
}

func (p *preferred) check(ctx context.Context) {
	n := p.node
	changes := n.lead.Changes.Load()
	for ; p.changes < changes; p.changes++ {
		if p.changes > 0 { // the first leader that a node knows is no change
			p.chooser.Moved(time.Now())
		}
	}
	if serving, _ := n.lead.Serves(); serving == 0 || n.stopping.Load() {
		p.chooser.Reset()
		clear(p.before)
		return
	}
	id := p.chooser.Choose(time.Now(), n.cfg.Preference.Node, p.ask(ctx))
	s, member := n.raft.Configuration().Find(id)
	if !member || !s.Voter {
		return
	}
	switch err := n.transferTo(ctx, s); {
	case err == nil:
		n.log.Info("leadership was transferred to a node that is preferred", "to", id)
	case ctx.Err() == nil:
		p.chooser.Failed(time.Now(), id)
		n.log.Warn("cannot transfer leadership to a node that is preferred; it is left alone for a while", "to", id,
			"error", err)
	}
}

// ask asks the other voters how they are.
func (p *preferred) ask(ctx context.Context) (voters []preference.Voter) {
	ctx, cancel := context.WithTimeout(ctx, slowAnswer)
	defer cancel()
	had, now := p.node.data.Applied(), make(map[string]requests.Status)
	for _, a := range (transfer{p.node}).ask(ctx) {
		now[a.Server.ID] = a.Status
		voters = append(voters, preference.Voter{ID: a.Server.ID, Preference: a.Preference, Able: p.able(a.Status)})
	}
	p.before, p.had = now, had
	return voters
}

// able reports whether a voter could lead as well as this node: it is well, its disk is not slow, and it has applied
// what this node had applied the last time.
func (p *preferred) able(st requests.Status) bool {
	before, answered := p.before[st.ID]
	if !answered || st.Appends < before.Appends {
		return false
	}
	took := time.Duration(st.AppendNanos - before.AppendNanos)
	return took <= slowAppend*time.Duration(st.Appends-before.Appends) && st.Applied >= p.had &&
		st.Role == "follower" && st.Harm() == requests.Unharmed && !st.Lacks() && !st.NoSpace && !st.NoLog
}

// transferTo transfers leadership to a voter, or fails soon.
func (n *Node) transferTo(ctx context.Context, s membership.Server) error {
	r := n.raft.Load()
	if r == nil {
		return propose.NotLeader().Err
	}
	ctx, cancel := context.WithTimeout(ctx, preferTime)
	defer cancel()
	release, err := n.writes.proposer.Hold(ctx)
	if err != nil {
		return unavailable("leadership was not transferred: operations in flight did not end in time: %v", err)
	}
	defer release()
	return transfer{n}.to(ctx, r, s)
}
