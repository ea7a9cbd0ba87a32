package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/testcluster"
)

func dataFaults() []Fault {
	return []Fault{
		{Name: "wiped", About: "a node comes back under its name without its data, and must not get in", Nodes: 3,
			Pick: to(aFollower, wiped)},
		{Name: "long-absence", About: "a follower is away until its log is gone from the others, and needs a snapshot",
			Nodes: 3, Pick: to(aFollower, kill), Hold: seconds(6, 12)},
		{Name: "transfer", About: "the leader is asked to hand over", Nodes: 2, Pick: to(theLeader, transfer)},
		{Name: "snapshot", About: "a node is asked for a snapshot", Pick: to(someNode, snapshot)},
	}
}

// refusal is how long a wiped node is given to get in.
const refusal = 3 * time.Second

// wiped starts a node without its data. A store that lets it in may lose what it
// had promised to keep: it must not become ready nor count as a voter.
func wiped(ctx context.Context, _ *Env, n *cluster.Node) (healer, error) {
	if err := n.Kill(); err != nil {
		return nil, err
	}
	aside, err := n.Wipe()
	if err != nil {
		return nil, err
	}
	if err := n.Start(); err != nil {
		return nil, err
	}
	n.Expect(true) // to give up is a good answer
	gotIn := staysOut(ctx, n)
	if n.Running() {
		n.Kill()
	}
	return starts(n), errors.Join(gotIn, n.Unwipe(aside))
}

func staysOut(ctx context.Context, n *cluster.Node) error {
	watch, cancel := context.WithTimeout(ctx, refusal)
	defer cancel()
	err := testcluster.Until(watch, "", func() bool { return n.Ready(watch) || !n.Running() })
	if err == nil && n.Running() {
		return fmt.Errorf("%s was let in again after it had lost its data", n.ID)
	}
	return nil
}

// transfer may be refused, when the cluster has other worries.
func transfer(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	e.note(n, "transfer", n.Transfer(ctx))
	return nil, nil
}

func snapshot(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	e.note(n, "snapshot", n.Snapshot(ctx))
	return nil, nil
}

func (e *Env) note(n *cluster.Node, what string, err error) {
	if err != nil {
		e.Recorder.Note(n.ID, fmt.Sprintf("%s: %v", what, err))
	}
}
