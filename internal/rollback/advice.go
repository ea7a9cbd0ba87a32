package rollback

import (
	"fmt"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// IfAllRestored is what to do if no leader can be elected, since too many nodes wait for one:
// they were restored from copies of different times.
const IfAllRestored = "if all nodes were restored from backups and no leader is elected, stop all of them, delete " +
	raftlog.MarkName +
	" and " + FileName + " in each data directory, and start them again; what the backups lack is lost; " +
	"a node that stops by itself after that is to be removed, and added again with an empty data directory"

// OneOfTwoRestored is what to do if a node of two voters was restored from an older copy. The
// other one is no majority without it. But it has all that was acknowledged, since that
// needed both: only the memory of it keeps the restored node from voting.
func OneOfTwoRestored(restored, other string) string {
	return fmt.Sprintf("the data of node %[1]s is an older copy, and node %[2]s alone cannot elect a leader. If the "+
		"cluster had the same members "+
		"when the copy was made, node %[2]s has everything that was acknowledged: stop both nodes, delete %[3]s in "+
		"the data directory of "+
		"node %[1]s and %[4]s in that of node %[2]s, and start them again. If node %[2]s was restored from a copy, "+
		"too, delete both "+
		"files of both nodes; what the copies lack is lost", restored, other, raftlog.MarkName, FileName)
}

// HowToElect is what to do if no leader can be elected since this node is in doubt.
func (d *Detector) HowToElect() string {
	if others, voter := d.cfg.Cluster.Voters(); voter && len(others) == 1 {
		return OneOfTwoRestored(d.cfg.Node, others[0])
	}
	return IfAllRestored
}

// WaitsForRestored returns what to do if this node cannot elect a leader since the only other
// voter is in doubt; empty: that is not the case.
func (d *Detector) WaitsForRestored() string {
	if others, voter := d.cfg.Cluster.Voters(); voter && len(others) == 1 && d.cfg.Seen.InDoubt(others[0]) {
		return OneOfTwoRestored(others[0], d.cfg.Node)
	}
	return ""
}
