package members

import (
	"context"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// Record has the state machine know every server's incarnation and
// addresses, and forget servers that were removed. An incarnation that is
// recorded stays; Admit keeps out who comes with another.
// It reports whether nothing is left to do.
func (mc *Changes) Record(ctx context.Context, t *propose.Term) (complete bool) {
	complete = true
	recorded := make(map[string]codec.Member)
	for _, m := range mc.cfg.Data.State.Members() {
		recorded[m.ID] = m
	}
	for _, s := range mc.cfg.Raft.Configuration() {
		id := s.ID
		old, known := recorded[id]
		delete(recorded, id)
		m := old
		if st, err := mc.cfg.Status(ctx, id); err == nil && (!known || st.Incarnation == old.Incarnation) {
			m = codec.Member{ID: id, Incarnation: st.Incarnation, RESPAddr: st.RESPAddr, HTTPAddr: st.HTTPAddr}
		} else if !known {
			complete = false
			continue
		}
		m.Learner = !s.Voter && mc.tellsLearners()
		if m == old {
			continue
		}
		if _, err := mc.cfg.Propose(ctx, t, &m); err != nil {
			mc.cfg.Logger.Info("member not recorded yet", "member", id, "error", err)
			complete = false
		}
	}
	for id := range recorded {
		if _, err := mc.forgetMember(ctx, t, id); err != nil {
			mc.cfg.Logger.Info("record of a removed member not deleted yet", "member", id, "error", err)
			complete = false
		}
	}
	return complete
}

// forgetMember has the state machine forget a server that was removed, unless it is in the
// configuration again: it may have been added, and recorded, since the caller looked. It is
// not added meanwhile. The index is that of the entry, 0 if there is none.
func (mc *Changes) forgetMember(ctx context.Context, t *propose.Term, id string) (index uint64, err error) {
	if !mc.changing.Enter(ctx) {
		return 0, ctx.Err()
	}
	defer mc.changing.Leave()
	if _, again := mc.cfg.Raft.Configuration().Find(id); again {
		return 0, nil
	}
	done, err := mc.cfg.Propose(ctx, t, &codec.Member{ID: id, Remove: true})
	return done.Index, err
}

// tellsLearners reports whether records tell learners from voters: each state machine of the cluster knows how.
func (mc *Changes) tellsLearners() bool { return mc.cfg.Data.State.Level() >= turn.Level2 }
