package nemesis

import (
	"context"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/disk"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// lyingDisk takes from a node what it has acknowledged. A write may be on this disk and
// on the leader's only, so the leader has to stay until the node has come back.
func lyingDisk(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	well, cancel := context.WithTimeout(ctx, hangTime)
	defer cancel()
	if err := e.Cluster.WaitReady(well); err != nil {
		return nil, nil
	}
	n.Disk.Set(disk.Faults{Lies: true})
	sleep(ctx, between(e.Rand, seconds(0.3, 4)))
	if err := n.PowerCut(e.loss(), e.Rand.Uint64()); err != nil {
		return nil, err
	}
	n.Disk.Set(disk.Faults{}) // what replaces the lost log is written to a disk that works
	return nil, e.comesBack(context.WithoutCancel(ctx), n)
}

// bitError has a node read a wrong bit, of any file.
func bitError(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	file := []string{"", "/wal/", "state", "blocks"}[e.Rand.IntN(4)]
	return e.misread(ctx, n, "a wrong bit", disk.Faults{Flip: true, Path: file})
}

// shortRead has a read of a node end too soon. The state file is left out, since it is mapped: what
// is missing of a mapping ends the process, and says nothing that a failed read does not.
func shortRead(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	file := []string{"/wal/", "/wal/", "blocks", "identity", "snapshot"}[e.Rand.IntN(5)]
	return e.misread(ctx, n, "too little", disk.Faults{Short: true, Path: file})
}

// misread has a node read what the disk does not have. It may repair itself, or refuse with advice;
// what the disk has is right.
func (e *Env) misread(ctx context.Context, n *cluster.Node, what string, f disk.Faults) (healer, error) {
	ctx = context.WithoutCancel(ctx)
	n.Expect(true)
	n.Disk.Set(f)
	waiting, cancel := context.WithTimeout(ctx, errorWait/2)
	defer cancel()
	if err := testcluster.Until(waiting, "", func() bool { return n.Disk.Failed() != "" }); err != nil && n.Running() {
		if err := n.Kill(); err != nil { // it reads more when it starts
			return nil, err
		}
	}
	if n.Running() {
		sleep(ctx, between(e.Rand, seconds(0, 1)))
	}
	err := e.comesBack(ctx, n)
	if file := n.Disk.Failed(); file != "" {
		e.Recorder.Note(n.ID, what+" read of "+file)
	}
	n.Disk.Set(disk.Faults{})
	return nil, err
}

func (e *Env) loss() disk.Loss {
	if e.Rand.IntN(4) == 0 {
		return disk.Everything
	}
	return disk.Some // which is what tears the tail of a log
}
