package nemesis

import (
	"context"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/faultproxy"
)

func networkFaults() []Fault {
	return []Fault{
		{Name: "partition-leader", About: "the leader alone on one side", Nodes: 2, Pick: leaderNet(partitionLeader),
			Hold: seconds(0.5, 6)},
		{Name: "partition-halves", About: "a random minority on one side", Nodes: 2, Pick: partitionHalves,
			Hold: seconds(0.5, 6)},
		{Name: "one-way", About: "a node is heard and hears nothing, or the reverse", Nodes: 2, Pick: oneWay,
			Hold: seconds(0.5, 6)},
		{Name: "bridge", About: "two sides that only one node can reach both of", Nodes: 3, Pick: bridge,
			Hold: seconds(0.5, 6)},
		{Name: "ring", About: "each node reaches its two neighbours only", Nodes: 4, Pick: ring, Hold: seconds(0.5, 6)},
		{Name: "flapping", About: "the leader cut off and back, faster than an election", Nodes: 2,
			Pick: leaderNet(flapping)},
		{Name: "half-open", Shapes: true,
			About: "a node is restarted, and the others do not hear that their connections are gone", Nodes: 2,
			Pick: to(mostlyLeader, halfOpen), Hold: seconds(3, 10)},
		{Name: "slow-link", Shapes: true, About: "100 to 300 ms on one link", Nodes: 2, Pick: leaderNet(slowLink),
			Hold: seconds(1, 6)},
		{Name: "lossy", Shapes: true, About: "every twentieth packet is lost, on all links", Nodes: 2, Pick: lossy,
			Hold: seconds(1, 6)},
		{Name: "late-acks", About: "old acknowledgements reach a deposed leader that nothing else can", Nodes: 3,
			Pick: leaderNet(lateAcks)},
		{Name: "lost-replies", About: "a third of the answers to clients is lost", Pick: lostReplies,
			Hold: seconds(1, 5)},
		{Name: "late-requests", About: "what clients send to a node arrives when they have given up and tried " +
			"elsewhere",
			Pick: to(someNode, lateRequests), Hold: seconds(1, 9)},
	}
}

// halfOpen is what a machine that loses power leaves behind at others.
func halfOpen(_ context.Context, e *Env, n *cluster.Node) (healer, error) {
	e.Cluster.Network.Abandon(n.ID)
	n.RESP.Abandon()
	n.HTTP.Abandon()
	if err := n.Kill(); err != nil {
		return nil, err
	}
	return starts(n), start(n)
}

// severed is what a partition does to bytes: most networks swallow them, some
// answer with a reset.
func (e *Env) severed() faultproxy.Flow {
	if e.Rand.IntN(4) == 0 {
		return faultproxy.Flow{Cut: true}
	}
	return faultproxy.Flow{Hold: true}
}

// rewire is an action that changes the network, and is undone by healing it.
func (e *Env) rewire(change func(ctx context.Context, n *cluster.Network)) action {
	return func(ctx context.Context) (healer, error) {
		change(ctx, e.Cluster.Network)
		return func(context.Context) error {
			e.Cluster.Network.Heal()
			return nil
		}, nil
	}
}

// leaderNet is a fault of the network around the leader.
func leaderNet(change func(ctx context.Context, e *Env, net *cluster.Network, leader string, others []string)) pick {
	return func(ctx context.Context, e *Env) (string, action) {
		n := e.Cluster.Leader(ctx)
		if n == nil {
			return "", nil
		}
		return n.ID, e.rewire(func(ctx context.Context,
			net *cluster.Network) {
			change(ctx, e, net, n.ID, e.others(n))
		})
	}
}

func partitionLeader(_ context.Context, e *Env, net *cluster.Network, leader string, others []string) {
	net.Split([]string{leader}, others, e.severed())
}

func partitionHalves(_ context.Context, e *Env) (string, action) {
	ids := e.shuffled()
	minority := ids[:1+e.Rand.IntN(max(1, (len(ids)-1)/2))]
	return strings.Join(minority, "+"), e.rewire(func(_ context.Context, net *cluster.Network) {
		net.Split(minority, ids[len(minority):], e.severed())
	})
}

func (e *Env) shuffled() []string {
	ids := e.others(nil)
	e.Rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

func oneWay(ctx context.Context, e *Env) (string, action) {
	n := e.Cluster.Leader(ctx)
	if n == nil || e.Rand.IntN(3) == 0 {
		n = e.anyone()
	}
	if n == nil {
		return "", nil
	}
	deaf := e.Rand.IntN(2) == 0
	act := e.rewire(func(_ context.Context, net *cluster.Network) {
		for _, other := range e.others(n) {
			if deaf {
				net.Set(other, n.ID, faultproxy.Flow{Hold: true})
			} else {
				net.Set(n.ID, other, faultproxy.Flow{Hold: true})
			}
		}
	})
	if deaf {
		return n.ID + " deaf", act
	}
	return n.ID + " mute", act
}

func bridge(_ context.Context, e *Env) (string, action) {
	ids := e.shuffled()
	middle := len(ids) / 2
	return ids[middle] + " between", e.rewire(func(_ context.Context, net *cluster.Network) {
		net.Split(ids[:middle], ids[middle+1:], e.severed())
	})
}

func ring(_ context.Context, e *Env) (string, action) {
	ids := e.shuffled()
	return strings.Join(ids, "-"), e.rewire(func(_ context.Context, net *cluster.Network) {
		flow := e.severed()
		for i, a := range ids {
			for k, b := range ids {
				if apart := (k - i + len(ids)) % len(ids); apart > 1 && apart < len(ids)-1 {
					net.Set(a, b, flow)
				}
			}
		}
	})
}

func flapping(ctx context.Context, e *Env, net *cluster.Network, leader string, others []string) {
	flow := e.severed()
	for range 4 + e.Rand.IntN(8) {
		net.Split([]string{leader}, others, flow)
		sleep(ctx, between(e.Rand, seconds(0.1, 0.9)))
		net.Heal()
		sleep(ctx, between(e.Rand, seconds(0.05, 0.5)))
	}
}

func slowLink(_ context.Context, e *Env, net *cluster.Network, leader string, others []string) {
	delay := between(e.Rand, seconds(0.05, 0.15))
	net.SetBoth(leader, others[e.Rand.IntN(len(others))], faultproxy.Flow{Delay: delay, Jitter: 20 * time.Millisecond})
}

func lossy(_ context.Context, e *Env) (string, action) {
	return "all links", e.rewire(func(_ context.Context, net *cluster.Network) {
		ids := e.others(nil)
		for i, a := range ids {
			for _, b := range ids[i+1:] {
				net.SetBoth(a, b, faultproxy.Flow{Loss: 0.05})
			}
		}
	})
}

// lateAcks holds back what the followers answer the leader, keeps the leader
// from reaching them until another one is elected, and then lets only the old
// answers through. A leader that takes them for fresh ones serves stale reads.
func lateAcks(ctx context.Context, e *Env, net *cluster.Network, leader string, others []string) {
	hold := faultproxy.Flow{Hold: true}
	for _, o := range others {
		net.Set(o, leader, hold)
	}
	sleep(ctx, between(e.Rand, seconds(0.05, 0.2))) // heartbeats go out and are answered in vain
	for _, o := range others {
		net.Set(leader, o, hold)
	}
	elected, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := e.Cluster.WaitLeader(elected, e.Cluster.Node(leader)); err != nil {
		return // no other leader: another fault is about
	}
	sleep(ctx, between(e.Rand, seconds(0.1, 1))) // the new one commits
	for _, o := range others {
		net.Set(o, leader, faultproxy.Flow{})
	}
	sleep(ctx, between(e.Rand, seconds(0.1, 0.5)))
}

func lostReplies(_ context.Context, e *Env) (string, action) {
	return "clients", func(context.Context) (healer, error) {
		e.Cluster.LoseAnswers(0.3)
		return func(context.Context) error {
			e.Cluster.LoseAnswers(0)
			return nil
		}, nil
	}
}

func lateRequests(_ context.Context, _ *Env, n *cluster.Node) (healer, error) {
	n.Requests.Set(faultproxy.Flow{Hold: true})
	return func(context.Context) error {
		n.Requests.Set(faultproxy.Flow{})
		return nil
	}, nil
}
