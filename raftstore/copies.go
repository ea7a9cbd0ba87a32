package raftstore

import "context"

// Copies tells whether this node, and how many others, have the log up to an
// applied entry on disk: those that say that they have applied it, and at least
// as many as it takes to commit it. It returns when enough others are known to,
// when all have been asked, or when ctx ends.
func (n *Node) Copies(ctx context.Context, index uint64, enough int) (own bool, others int) {
	own = n.state.WaitApplied(ctx, index) == nil
	certain := 0
	if own && index > 0 {
		voters, voting := n.voters()
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
	ids := n.others()
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
