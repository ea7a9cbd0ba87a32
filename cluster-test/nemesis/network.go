package nemesis

import (
	"context"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

func networkFaults() []Fault {
	return []Fault{
		{Name: "partition-leader", About: "the leader alone on one side", Nodes: 2, Inject: partitionLeader, Hold: seconds(0.5, 6)},
		{Name: "partition-halves", About: "a random minority on one side", Nodes: 2, Inject: partitionHalves, Hold: seconds(0.5, 6)},
		{Name: "one-way", About: "a node is heard and hears nothing, or the reverse", Nodes: 2, Inject: oneWay, Hold: seconds(0.5, 6)},
		{Name: "bridge", About: "two sides that only one node can reach both of", Nodes: 3, Inject: bridge, Hold: seconds(0.5, 6)},
		{Name: "ring", About: "each node reaches its two neighbours only", Nodes: 4, Inject: ring, Hold: seconds(0.5, 6)},
		{Name: "flapping", About: "the leader cut off and back, faster than an election", Nodes: 2, Inject: flapping},
		{Name: "slow-link", About: "100 to 300 ms on one link", Nodes: 2, Inject: slowLink, Hold: seconds(1, 6)},
		{Name: "lossy", About: "every twentieth packet is lost, on all links", Nodes: 2, Inject: lossy, Hold: seconds(1, 6)},
		{Name: "late-acks", About: "old acknowledgements reach a deposed leader that nobody else can", Nodes: 3, Inject: lateAcks},
		{Name: "lost-replies", About: "a third of the answers to clients is lost", Inject: lostReplies, Hold: seconds(1, 5)},
	}
}

// severed is what a partition does to bytes: most networks swallow them, some
// answer with a reset.
func (e *Env) severed() cluster.Flow {
	if e.Rand.IntN(4) == 0 {
		return cluster.Flow{Cut: true}
	}
	return cluster.Flow{Hold: true}
}

func (e *Env) healNetwork(context.Context) error {
	e.Cluster.Network.Heal()
	return nil
}

func partitionLeader(ctx context.Context, e *Env) (string, healer, error) {
	n := e.leader(ctx)
	if n == nil {
		return "", nil, nil
	}
	e.Cluster.Network.Split([]string{n.ID}, e.others(n), e.severed())
	return n.ID, e.healNetwork, nil
}

func partitionHalves(_ context.Context, e *Env) (string, healer, error) {
	ids := e.shuffled()
	minority := ids[:1+e.Rand.IntN(max(1, (len(ids)-1)/2))]
	e.Cluster.Network.Split(minority, ids[len(minority):], e.severed())
	return strings.Join(minority, "+"), e.healNetwork, nil
}

func (e *Env) shuffled() []string {
	ids := e.others(nil)
	e.Rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

func oneWay(ctx context.Context, e *Env) (string, healer, error) {
	n := e.leader(ctx)
	if n == nil || e.Rand.IntN(3) == 0 {
		n = e.anyone()
	}
	if n == nil {
		return "", nil, nil
	}
	deaf := e.Rand.IntN(2) == 0
	for _, other := range e.others(n) {
		if deaf {
			e.Cluster.Network.Set(other, n.ID, cluster.Flow{Hold: true})
		} else {
			e.Cluster.Network.Set(n.ID, other, cluster.Flow{Hold: true})
		}
	}
	if deaf {
		return n.ID + " deaf", e.healNetwork, nil
	}
	return n.ID + " mute", e.healNetwork, nil
}

func bridge(_ context.Context, e *Env) (string, healer, error) {
	ids := e.shuffled()
	middle := len(ids) / 2
	e.Cluster.Network.Split(ids[:middle], ids[middle+1:], e.severed())
	return ids[middle] + " between", e.healNetwork, nil
}

func ring(_ context.Context, e *Env) (string, healer, error) {
	ids := e.shuffled()
	flow := e.severed()
	for i, a := range ids {
		for k, b := range ids {
			if apart := (k - i + len(ids)) % len(ids); apart > 1 && apart < len(ids)-1 {
				e.Cluster.Network.Set(a, b, flow)
			}
		}
	}
	return strings.Join(ids, "-"), e.healNetwork, nil
}

func flapping(ctx context.Context, e *Env) (string, healer, error) {
	n := e.leader(ctx)
	if n == nil {
		return "", nil, nil
	}
	flow := e.severed()
	for range 4 + e.Rand.IntN(8) {
		e.Cluster.Network.Split([]string{n.ID}, e.others(n), flow)
		sleep(ctx, between(e.Rand, seconds(0.1, 0.9)))
		e.Cluster.Network.Heal()
		sleep(ctx, between(e.Rand, seconds(0.05, 0.5)))
	}
	return n.ID, e.healNetwork, nil
}

func slowLink(ctx context.Context, e *Env) (string, healer, error) {
	n := e.leader(ctx)
	if n == nil {
		return "", nil, nil
	}
	others := e.others(n)
	other := others[e.Rand.IntN(len(others))]
	e.Cluster.Network.SetBoth(n.ID, other, cluster.Flow{Delay: between(e.Rand, seconds(0.05, 0.15)), Jitter: 20 * time.Millisecond})
	return n.ID + "-" + other, e.healNetwork, nil
}

func lossy(_ context.Context, e *Env) (string, healer, error) {
	ids := e.others(nil)
	for i, a := range ids {
		for _, b := range ids[i+1:] {
			e.Cluster.Network.SetBoth(a, b, cluster.Flow{Loss: 0.05})
		}
	}
	return "all links", e.healNetwork, nil
}

// lateAcks holds back what the followers answer the leader, keeps the leader
// from reaching them until another one is elected, and then lets only the old
// answers through. A leader that takes them for fresh ones serves stale reads.
func lateAcks(ctx context.Context, e *Env) (string, healer, error) {
	n := e.leader(ctx)
	if n == nil {
		return "", nil, nil
	}
	hold := cluster.Flow{Hold: true}
	others := e.others(n)
	for _, o := range others {
		e.Cluster.Network.Set(o, n.ID, hold)
	}
	sleep(ctx, between(e.Rand, seconds(0.05, 0.2))) // heartbeats go out and are answered in vain
	for _, o := range others {
		e.Cluster.Network.Set(n.ID, o, hold)
	}
	elected, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := e.Cluster.WaitLeader(elected, n); err != nil {
		return n.ID, e.healNetwork, nil // no other leader: another fault is about
	}
	sleep(ctx, between(e.Rand, seconds(0.1, 1))) // the new one commits
	for _, o := range others {
		e.Cluster.Network.Set(o, n.ID, cluster.Flow{})
	}
	sleep(ctx, between(e.Rand, seconds(0.1, 0.5)))
	return n.ID, e.healNetwork, nil
}

func lostReplies(_ context.Context, e *Env) (string, healer, error) {
	e.Cluster.LoseAnswers(0.3)
	return "clients", func(context.Context) error {
		e.Cluster.LoseAnswers(0)
		return nil
	}, nil
}
