package nemesis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// advice is part of what a node says that is beyond repair.
const advice = "add it a" // again; older versions end the sentence otherwise

// replacement is how long it may take to make a node a member again.
const replacement = 60 * time.Second

// advised requires a node that has refused to start to say what to do, and does it.
func (e *Env) advised(ctx context.Context, n *cluster.Node, what string) error {
	if text := n.Output(); !strings.Contains(text, advice) || strings.Contains(text, "goroutine 1 [") {
		return fmt.Errorf("%s: the node did not say what to do: %s", what, text)
	}
	e.Recorder.Note(n.ID, "damage refused: "+what)
	return e.Replace(ctx, n)
}

// unharmed requires a node that was damaged and started to have the state that
// the others have. It may also find the damage later, and stop then.
func (e *Env) unharmed(ctx context.Context, n *cluster.Node, what string) error {
	agree, cancel := context.WithTimeout(ctx, replacement)
	defer cancel()
	if exited := n.Exited(); exited != nil {
		go func() {
			select {
			case <-exited:
				cancel()
			case <-agree.Done():
			}
		}()
	}
	if _, err := e.Cluster.WaitHashes(agree); err != nil && n.Running() {
		return fmt.Errorf("%s: the node started and does not agree: %w", what, err)
	}
	if !n.Running() {
		e.Recorder.Note(n.ID, "damage refused late: "+what)
		return e.Replace(ctx, n)
	}
	return nil
}

// recovered waits until a node is ready, or has refused and was replaced, and all have
// the same state.
func (e *Env) recovered(ctx context.Context, n *cluster.Node) error {
	ctx, cancel := context.WithTimeout(ctx, replacement)
	defer cancel()
	if err := testcluster.Until(ctx, n.ID+" refuses or is ready",
		func() bool { return n.Ready(ctx) || !n.Running() }); err != nil {
		return err
	}
	if !n.Running() {
		return e.advised(ctx, n, "a loss")
	}
	_, err := e.Cluster.WaitHashes(ctx)
	return err
}

// comesBack starts a node if it is down, and requires it to be as
// the others, by itself or as it advises.
func (e *Env) comesBack(ctx context.Context, n *cluster.Node) error {
	if !n.Running() {
		if err := n.Start(); err != nil {
			return err
		}
	}
	n.Expect(true)
	defer n.Expect(false)
	return e.recovered(ctx, n)
}
