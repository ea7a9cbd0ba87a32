package membership

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// fakeCluster is a cluster as node n1 knows it.
type fakeCluster struct {
	configuration Configuration
	recorded      map[string]string
	aside         bool // the state was put aside
	applied       uint64
	end           raftlog.Position
	lacks         raftlog.Position
	removed       bool // the log tells that n1 was a member, and that it was removed
	leader        string
	level         turn.ClusterLevel
}

func (c *fakeCluster) Configuration() Configuration { return c.configuration }
func (c *fakeCluster) Recorded(id string) string    { return c.recorded[id] }
func (c *fakeCluster) Sound() bool                  { return !c.aside }
func (c *fakeCluster) Applied() uint64              { return c.applied }
func (c *fakeCluster) LogEnd() raftlog.Position     { return c.end }
func (c *fakeCluster) WasMember() bool {
	_, member := c.configuration.Find("n1")
	return member || c.removed
}
func (c *fakeCluster) Lacks(p raftlog.Position) bool {
	return p.Index > 0 && p == c.lacks
}
func (c *fakeCluster) Leader() string           { return c.leader }
func (c *fakeCluster) Level() turn.ClusterLevel { return c.level }

var errRemoved = errors.New("removed")

// node is what a Policy of node n1 works with.
type node struct {
	*Policy
	cluster *fakeCluster
	failed  error
	asked   int // members
}

// newNode is node n1 of a cluster of voters, each recorded with its id and "-dir" as its incarnation.
func newNode(voters ...string) *node {
	n := &node{cluster: &fakeCluster{recorded: make(map[string]string), applied: 5,
		end: raftlog.Position{Index: 6, Term: 3}}}
	for _, id := range voters {
		n.cluster.configuration = append(n.cluster.configuration, Server{ID: id, Addr: id + ":1", Voter: true})
		n.cluster.recorded[id] = id + "-dir"
	}
	n.Policy = New(Config{
		Identity: func() identity.File { return identity.File{ClusterID: "c", NodeID: "n1", Incarnation: "n1-dir"} },
		Cluster:  n.cluster, Grace: time.Minute, Awaited: func(string) bool { return false },
		Members: func(context.Context, string) ([]string, uint64, error) {
			return nil, 0, errors.New("not reached")
		},
		Removed: errRemoved, Fail: func(err error) { n.failed = err }, Logger: slog.New(slog.DiscardHandler),
	})
	return n
}

// from is a node that connects, with its own directory and the log of n1.
func from(id string, change ...func(*peer.Facts)) peer.Facts {
	f := peer.Facts{ClusterID: "c", NodeID: id, Incarnation: id + "-dir", Progress: 5, LogIndex: 6, LogTerm: 3}
	for _, c := range change {
		c(&f)
	}
	return f
}

func ahead(f *peer.Facts) { f.LogIndex = 9 }

// code is that of a refusal, 0 if there is none.
func code(t *testing.T, err error) peer.Code {
	t.Helper()
	var r *peer.Refusal
	if err == nil {
		return 0
	}
	if !errors.As(err, &r) {
		t.Fatal(err)
	}
	return r.Code
}

func TestAdmit(t *testing.T) {
	for name, test := range map[string]struct {
		remote  peer.Facts
		change  func(*node)
		dialed  string
		purpose peer.Purpose
		want    peer.Code
	}{
		"a member":        {remote: from("n2")},
		"another cluster": {remote: from("n2", func(f *peer.Facts) { f.ClusterID = "d" }), want: peer.RefusedCluster},
		"the same id twice": {remote: from("n1", func(f *peer.Facts) { f.Incarnation = "x" }),
			want: peer.RefusedNode},
		"a member that lost its disk": {remote: from("n2", func(f *peer.Facts) { f.Incarnation = "new" }),
			want: peer.RefusedIncarnation},
		"a member that was added again, as this node will learn": {remote: from("n2", func(f *peer.Facts) {
			f.Incarnation, f.Progress = "new", 6
		})},
		"a version that does not know the level": {remote: from("n2"), change: func(n *node) { n.cluster.level = 1 },
			want: peer.RefusedLevel},
		"a member at another member's address": {remote: from("n2"), dialed: "n3:1", want: peer.RefusedNode},
		"a stranger":                           {remote: from("n9"), want: peer.RefusedMember},
		"a stranger that probes":               {remote: from("n9"), purpose: peer.Probe},
		"a stranger that is ahead": {remote: from("n9", ahead), purpose: peer.RPC,
			want: peer.RefusedOther},
		"a candidate that is ahead": {remote: from("n9", ahead)},
		"one with a certificate": {remote: from("n9", ahead), change: func(n *node) { n.cfg.Certified = true },
			want: peer.RefusedOther},
		"the leader": {remote: from("n9"), change: func(n *node) { n.cluster.leader = "n9" }},
		"one that is to tell what it saw": {remote: from("n9"), purpose: peer.RPC,
			change: func(n *node) { n.cfg.Awaited = func(id string) bool { return id == "n9" } }},
		"any, before this node is a member": {remote: from("n9"), purpose: peer.RPC,
			change: func(n *node) { n.cluster.configuration = nil }},
	} {
		n := newNode("n1", "n2", "n3")
		if test.change != nil {
			test.change(n)
		}
		purpose := test.purpose
		if purpose == 0 {
			purpose = peer.Stream
		}
		err := n.Admit(peer.Meeting{Remote: test.remote, Purpose: purpose, Dialed: test.dialed})
		if got := code(t, err); got != test.want || n.failed != nil {
			t.Errorf("%s: %v, the node fails: %v", name, err, n.failed)
		}
	}
}

// applying is a cluster that applies an entry whenever a record was looked up.
type applying struct{ *fakeCluster }

func (c applying) Recorded(id string) string {
	defer func() { c.applied++ }()
	return c.fakeCluster.Recorded(id)
}

// What is applied after the record of a node was looked up may bring another one: it does not make the
// one that was found as new as what the node has applied.
func TestRecordIsAsOldAsWhenItWasLookedUp(t *testing.T) {
	n := newNode("n1", "n2", "n3")
	n.cfg.Cluster = applying{n.cluster}
	again := from("n2", func(f *peer.Facts) { f.Incarnation, f.Progress = "new", n.cluster.applied+1 })
	if n.Replaced(again) {
		t.Error("a member that was added again counts as replaced")
	}
	if again.Progress = n.cluster.applied; !n.Replaced(again) {
		t.Error("a member that lost its disk does not count as replaced")
	}
}

// The only voter is ahead of all others, unless an older copy of it was put back. Where nodes have no
// credential, what a probe says is no proof.
func TestOnlyVoterThatIsBehindStops(t *testing.T) {
	for _, test := range []struct {
		purpose       peer.Purpose
		secured, stop bool
	}{
		{peer.Stream, false, true}, {peer.Probe, false, false}, {peer.Probe, true, true},
	} {
		n := newNode("n1")
		n.cfg.Secured = test.secured
		err := n.Admit(peer.Meeting{Remote: from("n2", ahead), Purpose: test.purpose})
		if err == nil || !strings.Contains(err.Error(), "an older copy of this node's data was put back") ||
			(n.failed != nil) != test.stop {
			t.Errorf("%+v: %v; it stops: %v", test, err, n.failed)
		}
	}
}

// What a stranger makes a node ask tells of the members, too: it cannot use up the time
// in which the node asks. What is reported counts until the node has applied as much.
func TestStrangersDoNotHoldBackReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode("n1", "n2", "n3")
		n.cfg.Members = func(_ context.Context, id string) ([]string, uint64, error) {
			if id == "n3" {
				return []string{"n8"}, n.cluster.applied, nil // it knows no more than this node
			}
			n.asked++
			return []string{"n1", "n2", "n3", "n4"}, 9, nil
		}
		meets := func(id string) peer.Code {
			t.Helper()
			return code(t, n.Admit(peer.Meeting{Remote: from(id, ahead), Purpose: peer.RPC}))
		}
		if got := meets("stranger"); got != peer.RefusedOther {
			t.Errorf("the members know a stranger: %d", got)
		}
		if got := meets("n4"); got != 0 || n.asked != 1 {
			t.Errorf("no node knows a member: %d; n2 was asked %d times", got, n.asked)
		}
		if got := meets("n8"); got != peer.RefusedOther {
			t.Errorf("a node that is not ahead reports a member: %d", got)
		}
		time.Sleep(reportEvery)
		if meets("stranger"); n.asked != 2 {
			t.Errorf("n2 was asked %d times", n.asked)
		}
		n.cluster.applied = 9
		if got := meets("n4"); got != peer.RefusedOther {
			t.Errorf("what was reported counts although this node knows as much: %d", got)
		}
	})
}

// A node that was removed stays connected for a while, and is cut off then.
func TestRemovedNodeStaysForAWhile(t *testing.T) {
	n, now := newNode("n1", "n2"), time.Now()
	n.Follow(map[string]bool{"n1": true, "n2": true, "n3": true}, now)
	n.Follow(map[string]bool{"n1": true, "n2": true}, now)
	if n.Outsider(from("n3"), peer.RPC) {
		t.Error("it is cut off before it can learn of its removal")
	}
	n.Follow(map[string]bool{"n1": true, "n2": true}, now.Add(time.Minute+1))
	if !n.Outsider(from("n3"), peer.RPC) {
		t.Error("it stays for good")
	}
}

func TestRejected(t *testing.T) {
	for name, test := range map[string]struct {
		code   peer.Code
		remote peer.Facts
		change func(*node)
		stops  bool
	}{
		"removed": {code: peer.RefusedMember, stops: true,
			remote: from("n2", func(f *peer.Facts) { f.Progress = 6 })},
		"removed, and the state does not tell yet that it was added": {code: peer.RefusedMember, stops: true,
			remote: from("n2", func(f *peer.Facts) { f.Progress = 7 }),
			change: func(n *node) { n.cluster.recorded = nil }},
		"removed, as its own log tells, too": {code: peer.RefusedMember, stops: true,
			remote: from("n2", func(f *peer.Facts) { f.Progress = 7 }),
			change: func(n *node) {
				n.cluster.recorded, n.cluster.configuration, n.cluster.removed = nil, n.cluster.configuration[1:], true
			}},
		"no member, by one that may not know yet that it was added": {code: peer.RefusedMember,
			remote: from("n2", func(f *peer.Facts) { f.Progress = 6 }),
			change: func(n *node) { n.cluster.recorded = nil }},
		"no member, and being added": {code: peer.RefusedMember,
			remote: from("n2", func(f *peer.Facts) { f.Progress = 7 }),
			change: func(n *node) { n.cluster.recorded, n.cluster.configuration = nil, n.cluster.configuration[1:] }},
		"no member, by one that lags": {code: peer.RefusedMember, remote: from("n2")},
		"of an older level":           {code: peer.RefusedLevel, remote: from("n2"), stops: true},
		"of another cluster": {code: peer.RefusedLevel,
			remote: from("n2", func(f *peer.Facts) { f.ClusterID = "d" })},
		"another directory, wrongly": {code: peer.RefusedIncarnation, remote: from("n2")},
		"another directory": {code: peer.RefusedIncarnation, remote: from("n2"), stops: true,
			change: func(n *node) { n.cluster.recorded["n1"] = "lost" }},
		"another directory, before it is added": {code: peer.RefusedIncarnation, remote: from("n2"),
			change: func(n *node) { n.cluster.recorded["n1"], n.cfg.Joins = "lost", true }},
		"another directory, and the state was put aside": {code: peer.RefusedIncarnation, remote: from("n2"),
			change: func(n *node) { n.cluster.recorded, n.cluster.aside = nil, true }},
		"for another reason": {code: peer.RefusedOther, remote: from("n2")},
	} {
		n := newNode("n1", "n2")
		if test.change != nil {
			test.change(n)
		}
		n.Rejected(peer.Meeting{Remote: test.remote}, &peer.Refusal{Code: test.code, Reason: name})
		if (n.failed != nil) != test.stops {
			t.Errorf("%s: it stops because of %v", name, n.failed)
		}
	}
}

// A learner has no vote.
func TestVotersOf(t *testing.T) {
	c := Configuration{{ID: "n1", Voter: true}, {ID: "n2"}, {ID: "n3", Voter: true}, {ID: "n4"},
		{ID: "n5", Voter: true}}
	for self, want := range map[string]struct {
		others  []string
		isVoter bool
	}{
		"n1": {[]string{"n3", "n5"}, true}, "n2": {[]string{"n1", "n3", "n5"}, false},
		"": {[]string{"n1", "n3", "n5"}, false},
	} {
		if others, isVoter := c.Voters(self); !slices.Equal(others, want.others) || isVoter != want.isVoter {
			t.Errorf("beside %q there are the voters %v, and it is one: %v", self, others, isVoter)
		}
	}
}

// An only voter stops if its log does not have what another node knows to be committed. To stop and remove that node is
// a way on only if it is a learner.
func TestOnlyVoterThatLacksWhatIsCommitted(t *testing.T) {
	for name, test := range map[string]struct {
		servers Configuration
		says    string
	}{
		"a learner":        {Configuration{{ID: "n1", Voter: true}, {ID: "n2"}}, "remove node n2"},
		"of a later time":  {Configuration{{ID: "n1", Voter: true}}, "ends at"},
		"beside a voter":   {Configuration{{ID: "n1", Voter: true}, {ID: "n2"}, {ID: "n3", Voter: true}}, ""},
		"itself no voter":  {Configuration{{ID: "n1"}, {ID: "n2"}}, ""},
		"the other votes":  {Configuration{{ID: "n1", Voter: true}, {ID: "n2", Voter: true}}, ""},
		"nothing is known": {nil, ""},
	} {
		n := newNode("n1", "n2")
		n.cluster.configuration = test.servers
		n.cluster.lacks = raftlog.Position{Index: 4, Term: 2}
		err := n.Admit(peer.Meeting{Remote: from("n2", func(f *peer.Facts) {
			f.CommittedIndex, f.CommittedTerm = 4, 2
		}), Purpose: peer.Stream})
		if (n.failed != nil) != (test.says != "") || test.says != "" && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v; it stops: %v", name, err, n.failed)
		}
	}
}

// A node that was killed before it had stored to which cluster it belongs is heard if it has the data directory that is
// recorded of it.
func TestOnlyVoterHearsALearnerWithoutClusterID(t *testing.T) {
	for incarnation, stops := range map[string]bool{"n2's": true, "another's": false} {
		n := newNode("n1", "n2")
		n.cluster.configuration = Configuration{{ID: "n1", Voter: true}, {ID: "n2"}}
		n.cluster.lacks = raftlog.Position{Index: 4, Term: 2}
		n.cluster.recorded = map[string]string{"n2": "n2's"}
		_ = n.Admit(peer.Meeting{Purpose: peer.Stream, Remote: from("n2", func(f *peer.Facts) {
			f.ClusterID, f.Incarnation, f.CommittedIndex, f.CommittedTerm = "", incarnation, 4, 2
		})})
		if (n.failed != nil) != stops {
			t.Errorf("with %s directory: %v", incarnation, n.failed)
		}
	}
}
