package raftstore

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/raftlogger"
	"github.com/turnlog/turnlog/internal/rollback"
)

// tcpTransport returns one end of Raft's own transport, and its address.
func tcpTransport(t *testing.T) (*raft.NetworkTransport, raft.ServerAddress) {
	t.Helper()
	n, err := raft.NewTCPTransportWithLogger("127.0.0.1:0", nil, 1, hang, raftlogger.New(testLogger()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n, n.LocalAddr()
}

// openSeen returns observations of no node yet.
func openSeen(t *testing.T) *rollback.Observations {
	t.Helper()
	s, err := rollback.Open(filepath.Join(t.TempDir(), rollback.FileName), testLogger())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A node acknowledges entries, and the acknowledgement arrives when the node has been started
// again and was told what was seen of it without them: it does not count.
func TestAcknowledgementOfAnEarlierStart(t *testing.T) {
	for _, c := range []struct {
		name   string
		before uint64   // the start that was met when the entries were sent
		during []uint64 // those that are met, in this order, before the acknowledgement arrives
		counts bool
		late   []uint64 // those that are met while this node's own log is not durable yet
	}{
		{"same start", 7, []uint64{7}, true, nil},
		{"started again", 7, []uint64{8}, false, nil},
		{"met for the first time", 0, []uint64{8}, false, nil},
		{"older turnlog", 0, []uint64{0}, true, nil},
		{"started again as an older turnlog", 7, []uint64{0}, false, nil},
		{"started again, and a question of the earlier start comes late", 7, []uint64{8, 7}, false, nil},
		{"an older turnlog started again, and its question comes late", 0, []uint64{8, 0}, false, nil},
		{"started again while the log of the leader was not durable", 7, []uint64{7}, true, []uint64{8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			leader, _ := tcpTransport(t)
			other, addr := tcpTransport(t)
			had := rollback.Observation{Incarnation: "x", Index: 90, Term: 3, Promised: 3}
			s := openSeen(t)
			s.Met("n2", had, c.before)
			tr := &transport{NetworkTransport: leader, maxBytes: 1 << 20, leads: func() bool { return true },
				seen: s,
				durable: func(uint64) error {
					for _, boot := range c.late {
						s.Met("n2", had, boot)
					}
					return nil
				},
				waiter: newPeerWaiter(func(string) bool { return true }, func(string) bool { return true })}
			told := make(chan rollback.Observation, 1)
			go func() {
				rpc := <-other.Consumer()
				var before rollback.Observation
				for _, boot := range c.during { // the question of a start overtakes the acknowledgement
					before = s.Met("n2", had, boot)
				}
				told <- before
				rpc.Respond(&raft.AppendEntriesResponse{Term: 3, LastLog: 100, Success: true}, nil)
			}()
			args := raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 99, PrevLogTerm: 3,
				Entries: []*raft.Log{{Index: 100, Term: 3}}}
			var resp raft.AppendEntriesResponse
			err := tr.AppendEntries("n2", addr, &args, &resp)
			if (err == nil) != (c.counts && c.late == nil) || err != nil && !errors.Is(err, errRestarted) {
				t.Errorf("the entries were sent: %v", err)
			}
			if seen := s.Last("n2").Position(); (seen == raftlog.Position{Index: 100, Term: 3}) != c.counts {
				t.Errorf("seen of the node: %v", seen)
			}
			if before := <-told; before != had {
				t.Errorf("the node was told %+v", before)
			}
		})
	}
}

// Every start tells another number.
func TestStartsAreTold(t *testing.T) {
	c := newCluster(t, 3)
	c.ready()
	leader, x := c.pair()
	known := func(r *running) func() bool {
		return func() bool { return leader.seen.Start(x.id).Number == r.writes.calls.Origin() }
	}
	eventuallyTrue(t, "the leader knows the start of the other", known(x))
	first := x.writes.calls.Origin()
	c.kill(x.id)
	again := c.start(x.id)
	eventuallyTrue(t, "it knows the next one", known(again))
	if again.writes.calls.Origin() == first || first == 0 {
		t.Fatal("both starts have the same number")
	}
	put(t, leader, "s", "a")
	eventuallyTrue(t, "acknowledgements of the new start count", func() bool {
		return !leader.seen.Last(x.id).Position().Before(leader.data.Mark.Position())
	})
}
