package raftstore

import (
	"context"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/propose"
)

// recordMembers has the state machine know every server's incarnation and
// addresses, and forget servers that were removed. An incarnation that is
// recorded stays; Admit keeps out who comes with another.
// It reports whether nothing is left to do.
func (mc *memberChanges) recordMembers(ctx context.Context, t *propose.Term) (complete bool) {
	complete = true
	recorded := make(map[string]codec.Member)
	for _, m := range mc.node.state.Members() {
		recorded[m.ID] = m
	}
	for _, id := range mc.node.raft.configuration().IDs() {
		old, known := recorded[id]
		delete(recorded, id)
		st, err := mc.node.statusOf(ctx, id)
		if err != nil || known && st.Incarnation != old.Incarnation {
			complete = complete && known
			continue
		}
		m := codec.Member{ID: id, Incarnation: st.Incarnation, RESPAddr: st.RESPAddr, HTTPAddr: st.HTTPAddr}
		if m == old {
			continue
		}
		if _, err := mc.node.propose(ctx, t, &m); err != nil {
			mc.node.log.Info("member not recorded yet", "member", id, "error", err)
			complete = false
		}
	}
	for id := range recorded {
		if _, err := mc.forgetMember(ctx, t, id); err != nil {
			mc.node.log.Info("record of a removed member not deleted yet", "member", id, "error", err)
			complete = false
		}
	}
	return complete
}

// forgetMember has the state machine forget a server that was removed, unless it is in the
// configuration again: it may have been added, and recorded, since the caller looked. It is
// not added meanwhile. The index is that of the entry, 0 if there is none.
func (mc *memberChanges) forgetMember(ctx context.Context, t *propose.Term, id string) (index uint64, err error) {
	if !mc.changing.enter(ctx) {
		return 0, ctx.Err()
	}
	defer mc.changing.leave()
	if _, again := mc.node.raft.configuration().Find(id); again {
		return 0, nil
	}
	done, err := mc.node.propose(ctx, t, &codec.Member{ID: id, Remove: true})
	return done.Index, err
}
