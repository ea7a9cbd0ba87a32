package raftstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
)

// ifAllRestored is what to do if no leader can be elected, since too many nodes wait for one:
// they were restored from copies of different times.
const ifAllRestored = "if all nodes were restored from backups and no leader is elected, stop all of them, delete " +
	raftlog.MarkName +
	" and " + sightingsName + " in each data directory, and start them again; what the backups lack is lost; " +
	"a node that stops by itself after that is to be removed, and added again with an empty data directory"

// oneOfTwoRestored is what to do if a node of two voters was restored from an older copy. The
// other one is no majority without it. But it has all that was acknowledged, since that
// needed both: only the memory of it keeps the restored node from voting.
func oneOfTwoRestored(restored, other string) string {
	return fmt.Sprintf("the data of node %[1]s is an older copy, and node %[2]s alone cannot elect a leader. If the "+
		"cluster had the same members "+
		"when the copy was made, node %[2]s has everything that was acknowledged: stop both nodes, delete %[3]s in "+
		"the data directory of "+
		"node %[1]s and %[4]s in that of node %[2]s, and start them again. If node %[2]s was restored from a copy, "+
		"too, delete both "+
		"files of both nodes; what the copies lack is lost", restored, other, raftlog.MarkName, sightingsName)
}

// howToElect is what to do if no leader can be elected since this node is in doubt.
func (n *Node) howToElect() string {
	if others, voter := n.voters(); voter && len(others) == 1 {
		return oneOfTwoRestored(n.id, others[0])
	}
	return ifAllRestored
}

// waitsForRestored returns what to do if this node cannot elect a leader since the only other
// voter is in doubt; empty: that is not the case.
func (n *Node) waitsForRestored() string {
	if others, voter := n.voters(); voter && len(others) == 1 && n.seen.inDoubt(others[0]) {
		return oneOfTwoRestored(others[0], n.id)
	}
	return ""
}

// A node asks the members that it knows what they have seen of it (see exchange). An older copy
// may be from before a member was added, or from before the node knew of any. So a node that
// opens a connection for Raft's messages, as a candidate and a leader do, says unasked what it
// has seen of the other. The other judges that before Raft gets a message of the connection.

// say returns what this node says when it opens a connection of Raft's.
func (n *Node) say(m peer.Meeting) []byte {
	if m.Purpose != peer.Stream {
		return nil
	}
	b, err := json.Marshal(seenAnswer{n.seen.of(m.Remote.NodeID, m.Remote.Incarnation), n.stable.Promised()})
	if err != nil {
		return nil // plain numbers and an id: it cannot fail
	}
	return b
}

// begin judges what the node that opened a connection of Raft's has seen of this one. Older
// versions say nothing.
//
// What is judged is what was seen of this very directory. Since this node started, it had what
// others see of it, so only a start from an older copy makes it lack that.
//
// The other's own term counts like that of one that answers, but only while this node asks, and
// as long as it knows no node that it could ask. At any other time, unless a loss is found, that
// term says nothing of this node: a candidate is in the term for which it wants the vote.
func (n *Node) begin(ctx context.Context, m peer.Meeting) error {
	if len(m.Said) == 0 {
		return nil
	}
	var seen seenAnswer
	if err := json.Unmarshal(m.Said, &seen); err != nil {
		return fmt.Errorf("raftstore: what node %s has seen of this one: %w", m.Remote.NodeID, err)
	}
	select {
	case <-n.checked: // until then the mark may be behind the log
	case <-ctx.Done():
		return ctx.Err()
	}
	n.judgeUnasked(m.Remote.NodeID, seen)
	return n.reason()
}

// judgeUnasked judges what another node says unasked that it has seen of this one.
func (n *Node) judgeUnasked(id string, seen seenAnswer) {
	if seen.Incarnation != n.ident.Get().Incarnation {
		seen.sighting = sighting{}
	}
	if n.ballot.Ready() != nil || len(n.configuration().Servers) == 0 {
		n.past(seen.Own)
	}
	n.judge(id, seen)
}
