package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/disk"
	"github.com/turnlog/turnlog/internal/testcluster"
	"github.com/turnlog/turnlog/turn"
)

// These need clusters whose nodes have disks of ours.
func diskFaults() []Fault {
	slow := []turn.Kind{turn.Overloaded} // writes pile up
	full := []turn.Kind{turn.Overloaded, turn.ReadOnly}
	return []Fault{
		{Name: "power-cut", About: "a node's machine loses power, and what was not synced", Disks: true,
			Refuses: slow, Pick: to(someNode, powerCut), Hold: seconds(0, 3)},
		{Name: "power-cut-all", About: "all machines lose power at once", Disks: true, Refuses: slow,
			Pick: toAll(powerCutAll),
			Hold: seconds(0, 1)},
		{Name: "lying-disk", About: "a follower's disk says that it has synced, and has not; then the power is cut, " +
			"while the others are well", Nodes: 3, Alone: true,
			Disks: true, Refuses: slow, Pick: to(aFollower, lyingDisk)},
		{Name: "bit-error", About: "a read returns a wrong bit, while a node runs or starts: no client may be told it",
			Nodes: 3, Alone: true, Disks: true,
			Refuses: slow, Pick: to(aFollower, bitError)},
		{Name: "short-read", About: "a read ends halfway, while a node runs or starts, as if the file did",
			Nodes: 3, Alone: true, Disks: true,
			Refuses: slow, Pick: to(aFollower, shortRead)},
		{Name: "slow-sync", About: "each sync takes 0.1 to 2 s longer", Disks: true, Refuses: slow,
			Pick: to(mostlyLeader, slowSync),
			Hold: seconds(2, 8)},
		{Name: "hung-disk", About: "the leader's disk hangs for ten seconds: another node has to lead before that",
			Nodes: 3, Alone: true, Disks: true,
			Refuses: slow, Pick: to(theLeader, hungDisk), Hold: seconds(1, 4)},
		{Name: "disk-low", About: "a disk is nearly full for a while", Disks: true,
			Refuses: full, Pick: to(mostlyLeader, short(disk.Faults{Low: true})), Hold: seconds(2, 6)},
		{Name: "disks-low", About: "the disks of a majority are nearly full for a while: writes are rejected, reads " +
			"and deletions work", Nodes: 3, Disks: true,
			Refuses: full, Pick: toAll(disksLow), Hold: seconds(2, 6)},
		{Name: "disk-full", About: "a disk is full to the last byte for a while", Disks: true,
			Refuses: full, Pick: to(mostlyLeader, short(disk.Faults{Full: true})), Hold: seconds(2, 6)},
		{Name: "sync-error", About: "a sync fails, and its pages are gone: the node has to stop", Nodes: 3, Disks: true,
			Refuses: slow, Pick: to(mostlyLeader, ioError(disk.Sync))},
		{Name: "write-error", About: "a write fails: the node has to stop", Nodes: 3, Disks: true,
			Refuses: slow, Pick: to(mostlyLeader, ioError(disk.Write))},
		{Name: "read-error", About: "a read fails while a node starts: it has to stop, or do without", Nodes: 3,
			Disks: true, Refuses: slow, Pick: to(someNode, readError)},
	}
}

// beforeCut makes syncs slow for a while, so that much gathers for each, and
// something is in flight.
func (e *Env) beforeCut(ctx context.Context, nodes ...*cluster.Node) {
	for _, n := range nodes {
		n.Disk.Set(disk.Faults{SyncDelay: 150 * time.Millisecond})
	}
	sleep(ctx, between(e.Rand, seconds(0.2, 0.8)))
}

func powerCut(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	e.beforeCut(ctx, n)
	return goodDisk(n), n.PowerCut(e.loss(), e.Rand.Uint64())
}

func powerCutAll(ctx context.Context, e *Env) (healer, error) {
	e.beforeCut(ctx, e.Cluster.Nodes...)
	var all []func() error
	for _, n := range e.Cluster.Nodes {
		loss, seed := e.loss(), e.Rand.Uint64()
		all = append(all, func() error { return n.PowerCut(loss, seed) })
	}
	err := together(all)
	return func(ctx context.Context) error {
		for _, n := range e.Cluster.Nodes {
			err = errors.Join(err, goodDisk(n)(ctx))
		}
		return err
	}, err
}

// goodDisk makes a disk work again, and the node if it gave up meanwhile.
func goodDisk(n *cluster.Node) healer {
	return func(context.Context) error {
		n.Disk.Set(disk.Faults{})
		return start(n)
	}
}

func slowSync(_ context.Context, e *Env, n *cluster.Node) (healer, error) {
	n.Disk.Set(disk.Faults{SyncDelay: between(e.Rand, seconds(0.1, 2))})
	return goodDisk(n), nil
}

// hangTime is how long a disk hangs, of which otherLeads is what the cluster may
// take to go on without it.
const (
	hangTime   = 10 * time.Second
	otherLeads = 7 * time.Second
)

// hungDisk requires the others to do without the leader. They must be well: it
// takes both of them.
func hungDisk(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	well, cancel := context.WithTimeout(ctx, hangTime)
	defer cancel()
	if err := e.Cluster.WaitReady(well); err != nil || e.Cluster.Leader(ctx) != n {
		return nil, nil
	}
	n.Disk.Set(disk.Faults{SyncDelay: hangTime})
	watch, cancel := context.WithTimeout(ctx, otherLeads)
	defer cancel()
	if _, err := e.Cluster.WaitLeader(watch, n); err != nil && ctx.Err() == nil {
		return goodDisk(n), fmt.Errorf("the disk of %s, which leads, hangs: %w", n.ID, err)
	}
	return goodDisk(n), nil
}

// short makes space short. The node must go on, and be writable again by itself.
func short(f disk.Faults) func(context.Context, *Env, *cluster.Node) (healer, error) {
	return func(_ context.Context, _ *Env, n *cluster.Node) (healer, error) {
		n.Disk.Set(f)
		return goodDisk(n), nil
	}
}

const (
	errorWait = 5 * time.Second  // until something is written, or synced
	stopWait  = 10 * time.Second // until the node has stopped over it
)

// ioError has one operation fail. The node must stop; then its machine is started
// again, as a sick one would be, without what had not got onto its disk.
func ioError(op disk.Op) func(context.Context, *Env, *cluster.Node) (healer, error) {
	return func(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
		ctx = context.WithoutCancel(ctx) // Heal would start a node that is about to stop
		file := []string{"", "/wal/", "state.db"}[e.Rand.IntN(3)]
		n.Expect(true)
		n.Disk.Set(disk.Faults{Fail: op, Path: file})
		waiting, cancel := context.WithTimeout(ctx, errorWait)
		defer cancel()
		if err := testcluster.Until(waiting, "", func() bool { return n.Disk.Failed() != "" }); err != nil {
			n.Expect(false)
			return goodDisk(n), nil // nothing was written to that file
		}
		if strings.HasSuffix(n.Disk.Failed(), ".tmp") {
			// It is thrown away, and made again, unless the node cannot go on without, as
			// with the next segment of its log.
			return mayStop(n), nil
		}
		if err := exits(ctx, n); err != nil {
			return nil, fmt.Errorf("a %s of %s failed: %w", op, n.Disk.Failed(), err)
		}
		return goodDisk(n), n.PowerCut(disk.Some, e.Rand.Uint64())
	}
}

// mayStop makes a disk work again, and the node if it gives up over what it has met
// before.
func mayStop(n *cluster.Node) healer {
	return func(ctx context.Context) error {
		n.Disk.Set(disk.Faults{})
		watch, cancel := context.WithTimeout(ctx, errorWait)
		defer cancel()
		_ = testcluster.Until(watch, n.ID+" stops", func() bool { return !n.Running() }) // or it goes on
		return start(n)
	}
}

func readError(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	if err := n.Kill(); err != nil {
		return nil, err
	}
	file := []string{"", "/wal/", "state.db", "snapshot"}[e.Rand.IntN(4)]
	n.Disk.Set(disk.Faults{Fail: disk.Read, Path: file})
	if err := n.Start(); err != nil {
		return nil, err
	}
	n.Expect(true)
	waiting, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	if err := testcluster.Until(waiting, n.ID+" is ready or stops over a failed read",
		func() bool { return n.Ready(waiting) || !n.Running() }); err != nil {
		return nil, err
	}
	if !n.Running() && !strings.Contains(n.Output(), "input/output error") {
		return nil, fmt.Errorf("%s stopped over a failed read, and did not say so", n.ID)
	}
	return goodDisk(n), nil
}

// exits waits until a node has stopped by itself.
func exits(ctx context.Context, n *cluster.Node) error {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	return testcluster.Until(ctx, n.ID+" stops by itself", func() bool { return !n.Running() })
}

func disksLow(_ context.Context, e *Env) (healer, error) {
	nodes := e.Cluster.Nodes
	var heal []healer
	for _, i := range e.Rand.Perm(len(nodes))[:len(nodes)/2+1] {
		nodes[i].Disk.Set(disk.Faults{Low: true})
		heal = append(heal, goodDisk(nodes[i]))
	}
	return func(ctx context.Context) error {
		var errs []error
		for _, h := range heal {
			errs = append(errs, h(ctx))
		}
		return errors.Join(errs...)
	}, nil
}
