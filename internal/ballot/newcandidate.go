package ballot

import (
	"slices"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// acceptNewVoter has Raft consider a candidate whose log is ahead of this node's, although this
// node does not know it as a voter.
//
// Raft rejects a candidate that is not a voter in the voter's own configuration. Raft's paper
// does not, and needs that vote: the candidate may have been added, or given a vote, in
// entries that this node lacks, and its majority may be one only with this node. So the
// candidate goes to Raft under the id of a voter that this node knows. Raft uses the id for
// nothing but that check. The vote is recorded for the candidate's address, and is counted
// by the candidate only if this node is a voter in the candidate's configuration.
//
// Everything else holds as before: one vote per term, none for a log that is behind, none
// while this node hears a leader. A removed node gains nothing: a node that knows of its
// removal has a log that is ahead of it, since the removal was committed by a majority and
// the removed node's log lacks it; or the removed node has it, too, and does not stand.
// Connections are admitted before by package raftstore, so no stranger gets here.
func (b *Ballot) acceptNewVoter(h *raft.RPCHeader, end raftlog.Position) {
	if b.cfg.Configuration == nil || len(h.ID) == 0 || !b.behind(end) {
		return
	}
	servers := b.cfg.Configuration().Servers
	voter := func(s raft.Server) bool { return s.Suffrage == raft.Voter }
	if slices.ContainsFunc(servers, func(s raft.Server) bool { return voter(s) && string(s.ID) == string(h.ID) }) {
		return
	}
	if known := slices.IndexFunc(servers, voter); known >= 0 {
		h.ID = []byte(servers[known].ID)
	}
}

// behind reports whether this node's log lacks something that one has which ends there. One that has lost its end
// lacks that.
func (b *Ballot) behind(end raftlog.Position) bool {
	mark := b.cfg.Mark.Position()
	_, missing := b.cfg.Mark.Lost()
	return mark.Before(end) || missing && mark == end
}
