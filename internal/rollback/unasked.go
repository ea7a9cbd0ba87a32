package rollback

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/turnlog/turnlog/internal/peer"
)

// A node asks the members that it knows what they have seen of it (see Detector.Run). An older copy
// may be from before a member was added, or from before the node knew of any. So a node that
// opens a connection for Raft's messages, as a candidate and a leader do, says unasked what it
// has seen of the other. The other judges that before Raft gets a message of the connection.

// Say returns what this node says when it opens a connection of Raft's, nil on others.
func (d *Detector) Say(m peer.Meeting) []byte {
	if m.Purpose != peer.Stream {
		return nil
	}
	b, err := json.Marshal(statement{d.cfg.Seen.Of(m.Remote.NodeID, m.Remote.Incarnation), d.cfg.Terms.Promised()})
	if err != nil {
		return nil // plain numbers and an id: it cannot fail
	}
	return b
}

// Begin judges what the node that opened a connection of Raft's has seen of this one. Older
// versions say nothing.
//
// What is judged is what was seen of this very directory. Since this node started, it had what
// others see of it, so only a start from an older copy makes it lack that.
//
// The other's own term counts like that of one that answers, but only while this node asks, and
// as long as it knows no node that it could ask. At any other time, unless a loss is found, that
// term says nothing of this node: a candidate is in the term for which it wants the vote.
func (d *Detector) Begin(ctx context.Context, m peer.Meeting) error {
	if len(m.Said) == 0 {
		return nil
	}
	var seen statement
	if err := json.Unmarshal(m.Said, &seen); err != nil {
		return fmt.Errorf("what node %s has seen of this one: %w", m.Remote.NodeID, err)
	}
	select {
	case <-d.cfg.Checked: // until then the mark may be behind the log
	case <-ctx.Done():
		return ctx.Err()
	}
	d.judgeUnasked(m.Remote.NodeID, seen)
	return d.cfg.Failed()
}

// judgeUnasked judges what another node says unasked that it has seen of this one.
func (d *Detector) judgeUnasked(id string, seen statement) {
	if seen.Incarnation != d.cfg.Incarnation {
		seen.Observation = Observation{}
	}
	if d.cfg.Ballot.Ready() != nil || len(d.cfg.Cluster.Members()) == 0 {
		d.past(seen.Own)
	}
	d.judge(id, seen)
}

// toldUnasked judges what another node's question says that it has seen of this one.
func (d *Detector) toldUnasked(id string, seen statement) {
	d.judgeUnasked(id, seen)
	// Two nodes that start would otherwise answer each question with the next one.
	if d.cfg.Ballot.Ready() != nil && d.introduced.told(id) {
		d.soon.Notify()
	}
}
