package nemesis

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// Resources that a process gets too little of.
func resourceFaults() []Fault {
	return []Fault{
		{Name: "starved", About: "a node gets a twentieth to a third of a processor, a few milliseconds at a time",
			Nodes: 3,
			Pick:  to(mostlyLeader, starve), Hold: seconds(2, 6)},
		{Name: "few-descriptors",
			About: "a node can open hardly any file or connection for a while: it goes on, or ends and says why",
			Nodes: 3, Alone: true,
			Pick: to(mostlyLeader, fewDescriptors), Hold: seconds(1, 4)},
		{Name: "killed-for-memory", About: "kill -9 of a node when its memory has reached a new maximum",
			Pick: to(mostlyLeader, killForMemory), Hold: seconds(0.2, 3)},
	}
}

// starve freezes a node again and again, for most of the time.
func starve(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	run, freeze := between(e.Rand, seconds(0.001, 0.01)), between(e.Rand, seconds(0.02, 0.06))
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { // ends when healed; a node that is down cannot be frozen, nor can it go on
		defer close(ended)
		for ctx.Err() == nil {
			_ = n.Pause()
			sleep(ctx, freeze)
			_ = n.Resume()
			sleep(ctx, run)
		}
	}()
	return func(context.Context) error {
		cancel()
		<-ended
		return nil
	}, nil
}

// spareDescriptors is how many more a node can open.
const spareDescriptors = 3

// fewDescriptors lowers the limit of a process that runs. What it cannot do without,
// such as the next segment of its log, may end it.
func fewDescriptors(_ context.Context, _ *Env, n *cluster.Node) (healer, error) {
	before, err := n.LimitFiles(spareDescriptors)
	if err != nil || before == 0 { // not to be had here
		return nil, err
	}
	n.Expect(true)
	return func(context.Context) error {
		if err := n.AllowFiles(before); err != nil && n.Running() {
			return err
		}
		n.Expect(false)
		return start(n)
	}, nil
}

const (
	memoryWatch = 2 * time.Second
	memoryLook  = 5 * time.Millisecond
)

// killForMemory is what the kernel does to who needs most of it. It comes when much is
// in flight, as with a large request or a snapshot.
func killForMemory(ctx context.Context, _ *Env, n *cluster.Node) (healer, error) {
	most := n.ResidentBytes()
	watch, cancel := context.WithTimeout(ctx, memoryWatch)
	defer cancel()
	for looks := 0; sleep(watch, memoryLook); looks++ {
		now := n.ResidentBytes()
		if now > most && looks > 50 {
			break
		}
		most = max(most, now)
	}
	if !n.Running() {
		return starts(n), nil
	}
	return starts(n), n.Kill()
}
