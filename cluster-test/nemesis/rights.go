package nemesis

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// Changes of users and certificates reach nodes of which one is killed meanwhile.
func rightsFaults() []Fault {
	return []Fault{
		{Name: "rights-lost", Secure: true, About: "a user loses the right to write, or all rights, and gets them back",
			Pick: toAll(rightsLost), Hold: seconds(1, 4)},
		{Name: "renewed", Secure: true, About: "every node gets another certificate", Pick: toAll(renewed)},
	}
}

// spreadLimit is how long a node may take to go by users and certificates of which it was told.
const spreadLimit = 6 * time.Second

// signalLimit is how long a node may take to act on the signal that tells it: what it answers sooner says nothing.
const signalLimit = 2 * time.Second

func rightsLost(ctx context.Context, e *Env) (healer, error) {
	right, reads := auth.Read, e.Rand.IntN(3) == 0
	if reads {
		right = auth.None
	}
	note := func(stage history.RightsStage) {
		e.Recorder.Note("", history.RightsNote(cluster.Visitor, reads, stage))
	}
	set := func(ctx context.Context, right auth.Right, from, to history.RightsStage) error {
		note(from)
		if err := e.Cluster.Security.SetVisitor(right); err != nil {
			return err
		}
		if err := e.killOne(); err != nil {
			return err
		}
		all, err := e.spread(ctx, "whether the visitor may write",
			func(ctx context.Context, n *cluster.Node) (bool, error) {
				may, err := n.MayVisitorWrite(ctx)
				return may == (right == auth.Write), err
			})
		if all {
			note(to)
		}
		return err
	}
	// Not to be interrupted: nothing else would give the rights back.
	ctx = context.WithoutCancel(ctx)
	heal := func(ctx context.Context) error {
		return set(ctx, auth.Write, history.RightsComing, history.RightsBack)
	}
	return heal, set(ctx, right, history.RightsGoing, history.RightsGone)
}

func renewed(ctx context.Context, e *Env) (healer, error) {
	for _, n := range e.Cluster.Nodes {
		if err := e.Cluster.Security.Renew(n.ID); err != nil {
			return nil, err
		}
	}
	if err := e.killOne(); err != nil {
		return nil, err
	}
	_, err := e.spread(context.WithoutCancel(ctx), "for its certificate",
		func(ctx context.Context, n *cluster.Node) (bool, error) {
			file, err := e.Cluster.Security.Certificate(n.ID)
			if err != nil {
				return false, err
			}
			shown, err := n.Certificate(ctx)
			block, _ := pem.Decode(file)
			return err == nil && bytes.Equal(block.Bytes, shown), err
		})
	return nil, err
}

// killOne kills a node, mostly, and starts it again.
func (e *Env) killOne() error {
	n := e.anyone()
	if n == nil || e.Rand.IntN(4) == 0 {
		return nil
	}
	if err := n.Kill(); err != nil {
		return err
	}
	return start(n)
}

// spread tells the nodes of a change until each that runs goes by it, and reports whether
// all of them do. A node that answers and does not is an error; one that is down, or does not answer, will
// learn of it from the files or from the signal that waits for it.
func (e *Env) spread(ctx context.Context, what string,
	follows func(context.Context, *cluster.Node) (bool, error)) (all bool, err error) {
	all = true
	for _, n := range e.Cluster.Nodes {
		knows, behind := e.told(ctx, n, follows)
		if behind {
			return false, fmt.Errorf("%v after the change, %s, asked %s, answers as before", spreadLimit, n.ID, what)
		}
		all = all && knows
	}
	return all, nil
}

// told tells a node until it goes by the change, or spreadLimit is over, which each node has for
// itself: where there is no leader, the nodes before it may not answer. behind: it does not by the last
// answer to what it was asked signalLimit after it was first told, or later.
func (e *Env) told(ctx context.Context, n *cluster.Node,
	follows func(context.Context, *cluster.Node) (bool, error)) (knows, behind bool) {
	limited, cancel := context.WithTimeout(ctx, spreadLimit)
	defer cancel()
	var told time.Time // for the first time
	waited := testcluster.Until(limited, "", func() bool {
		if !n.Running() {
			return true
		}
		late := !told.IsZero() && time.Since(told) > signalLimit
		ok, err := follows(limited, n)
		if err == nil {
			behind = !ok && late
		}
		if (err == nil && !ok || !n.Healthy()) && n.Reload() == nil && told.IsZero() { // or it has just ended
			told = time.Now()
		}
		return err == nil && ok
	})
	if waited == nil {
		return true, false
	}
	if told.IsZero() {
		_ = n.Reload() // it has not answered: the signal waits for it
	}
	return false, behind
}
