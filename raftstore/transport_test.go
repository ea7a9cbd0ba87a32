package raftstore

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/ballot"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// A follower with a stale end of its log must not apply it, whatever the leader's
// commit index is by the time a message without entries is built.
func TestCommitIndexEndsWithTheMessage(t *testing.T) {
	c := newCluster(t, 3)
	leader := c.leader()
	f := c.follower()
	put(t, leader, "s", "x")
	for name, args := range map[string]raft.AppendEntriesRequest{
		"without entries": {PrevLogEntry: 1, LeaderCommitIndex: 1 << 40},
		"heartbeat":       {},
		"caught up":       {PrevLogEntry: 9, LeaderCommitIndex: 5},
	} {
		want := min(args.LeaderCommitIndex, args.PrevLogEntry)
		args.RPCHeader.ProtocolVersion = raft.ProtocolVersionMax
		// Its term is old, so the follower only answers.
		if err := leader.trans.AppendEntries(raft.ServerID(f.id), raft.ServerAddress(c.addrs[f.id]), &args,
			&raft.AppendEntriesResponse{}); err != nil {
			t.Fatal(err)
		}
		if args.LeaderCommitIndex != want {
			t.Errorf("%s: commit index %d was sent, want %d", name, args.LeaderCommitIndex, want)
		}
	}
}

// A leader whose log dropped an entry while a message was built sends nothing in its place.
func TestNothingIsSentInPlaceOfAnEntry(t *testing.T) {
	c := newCluster(t, 3, patient)
	leader, f := c.elect("n1"), c.nodes["n2"]
	entries := []*raft.Log{{Index: 1}, {Index: 2, Type: raftlog.StandIn}}
	for sent, want := range map[int]error{1: nil, 2: errDropped} {
		// Its term is old, so the follower only answers.
		args := raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax},
			Entries: entries[:sent]}
		if err := leader.trans.AppendEntries(raft.ServerID(f.id), raft.ServerAddress(c.addrs[f.id]), &args,
			&raft.AppendEntriesResponse{}); !errors.Is(err, want) {
			t.Errorf("%d entries sent: %v, want %v", sent, err, want)
		}
	}
}

// The same with a real stale suffix: the deposed leader has an entry that no other node
// else has, where the new leader has committed another one.
func TestStaleSuffixIsNotApplied(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, w.option, patient)
	defer c.killAll()
	others := []string{"n2", "n3"}
	a := c.elect("n1")
	put(t, a, "s", "common")
	c.recordedAll() // the leader has nothing more to propose by itself, which could reach n3 and not n2
	c.atLevel(turn.NewestLevel)
	c.level()
	before := a.data.Log.LastDurable()
	var prev raft.Log
	if err := a.data.Log.GetLog(before, &prev); err != nil {
		t.Fatal(err)
	}
	c.isolate(w, "n1", others, true)
	a.Submit(t.Context(), appendOp("s", "stale"))
	eventuallyTrue(t, "the old leader has an entry of its own", func() bool {
		return a.data.Log.LastDurable() > before
	})
	b := c.elect("n2")
	put(t, b, "s", "new")

	// What the new leader sends if it builds a message while it commits.
	_, term, commit := b.raft.State()
	args := raft.AppendEntriesRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("n2"),
			Addr: []byte(c.addrs["n2"])},
		Term: term, PrevLogEntry: before, PrevLogTerm: prev.Term, LeaderCommitIndex: commit,
	}
	w.dropRequests("n2", c.addrs["n1"], false)
	var resp raft.AppendEntriesResponse
	if err := b.trans.AppendEntries("n1", raft.ServerAddress(c.addrs["n1"]), &args, &resp); err != nil {
		t.Fatal(err)
	}
	if !resp.Success {
		t.Fatalf("the message was not taken: %+v", resp)
	}
	c.isolate(w, "n1", others, false)
	put(t, b, "s", "end")
	eventuallyTrue(t, "the old leader catches up", func() bool { return len(texts(t, a, "s", turn.Stale)) >= 3 })
	c.sameState()
}

func TestMessagesAreCutByBytes(t *testing.T) {
	tr := &transport{maxBytes: 1000}
	sizes := func(n ...int) (logs []*raft.Log) {
		for _, s := range n {
			logs = append(logs, &raft.Log{Data: make([]byte, s)})
		}
		return logs
	}
	for _, c := range []struct {
		entries []*raft.Log
		want    int
	}{
		{nil, 0},
		{sizes(10, 20), 2},
		{sizes(500, 500, 1), 2},
		{sizes(5000, 1), 1},
		{sizes(1, 5000), 1},
	} {
		args := &raft.AppendEntriesRequest{Entries: c.entries}
		tr.trim(args)
		if len(args.Entries) != c.want {
			t.Errorf("%d entries are left, want %d", len(args.Entries), c.want)
		}
	}
}

// Entries that do not fit into one message reach a follower that was away.
func TestLargeEntriesReachALaggingFollower(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) { cfg.Consensus.MaxBytes = 100 << 10 })
	leader := c.leader()
	f := c.follower()
	c.kill(f.id)
	for range 20 {
		put(t, leader, "s", string(make([]byte, 60<<10)))
	}
	put(t, leader, "s", string(make([]byte, 1<<20)))
	f = c.start(f.id)
	want, _ := leader.data.State.Applied()
	began := time.Now()
	eventuallyTrue(t, "the follower catches up", func() bool { have, _ := f.data.State.Applied(); return have >= want })
	t.Logf("caught up in %v", time.Since(began))
	c.sameState()
}

// keepConnections fills what a node keeps of connections to another.
func (c *cluster) keepConnections(from *running, to string) {
	c.t.Helper()
	var wg sync.WaitGroup
	for range keptConns {
		wg.Go(func() {
			if err := c.askVote(from, to); err != nil {
				c.t.Error(err)
			}
		})
	}
	wg.Wait()
}

// askVote asks for a vote in a term that is long over, which is only answered. That the node
// would not ask for one in such a term is passed over.
func (c *cluster) askVote(from *running, to string) error {
	asks := *from.trans
	asks.ballot = ballot.New(ballot.Config{Mark: from.data.Mark, Clock: time.Now})
	asks.ballot.Ask(0)
	req := &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	return asks.RequestVote(raft.ServerID(to), raft.ServerAddress(c.addrs[to]), req, &raft.RequestVoteResponse{})
}

// A node that has not sent another anything for a while asks it for its vote in spite
// of connections that it has kept from before the other's restart.
func TestVotesAreAskedForOverANewConnection(t *testing.T) {
	c := newCluster(t, 3)
	defer c.killAll()
	from, to := c.withBrokenConnections()
	for range keptConns {
		if err := c.askVote(from, to); err != nil {
			t.Error(err)
		}
	}
}

// Nor is a node that is to stand for election told so in vain.
func TestLeadershipIsOfferedOverANewConnection(t *testing.T) {
	c := newCluster(t, 3)
	defer c.killAll()
	from, to := c.withBrokenConnections()
	req := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	if err := from.trans.TimeoutNow(raft.ServerID(to), raft.ServerAddress(c.addrs[to]), req,
		&raft.TimeoutNowResponse{}); err != nil {
		t.Error(err)
	}
}

// withBrokenConnections returns a follower that has kept nothing but connections from
// before the restart of another one, to.
func (c *cluster) withBrokenConnections() (from *running, to string) {
	c.t.Helper()
	c.ready()
	// Both follow, unless the leader changes, which does no harm.
	leader := c.leader()
	var followers []string
	for _, id := range ids(3) {
		if id != leader.id {
			followers = append(followers, id)
		}
	}
	from, to = c.nodes[followers[0]], followers[1]
	c.keepConnections(from, to)
	c.kill(to)
	c.start(to)
	c.ready()
	return from, to
}
