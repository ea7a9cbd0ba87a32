package raftstore

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
)

// asBallot sends a message and returns whether Raft gets it.
func reachesRaft(b *ballot, m any) bool {
	answers := make(chan raft.RPCResponse, 1)
	passed := !b.answer(raft.RPC{Command: m, RespChan: answers}, slog.New(slog.DiscardHandler))
	if passed == (len(answers) > 0) {
		panic("answered and passed on, or neither")
	}
	return passed
}

func TestBallot(t *testing.T) {
	vote := func(term, lastTerm, last uint64) any {
		return &raft.RequestVoteRequest{Term: term, LastLogTerm: lastTerm, LastLogIndex: last}
	}
	for name, c := range map[string]struct {
		loss    *raftlog.Loss
		message any
		passes  bool
	}{
		"healthy: vote":       {nil, vote(4, 1, 1), true},
		"healthy: a leader":   {nil, &raft.AppendEntriesRequest{Term: 1}, true},
		"healthy: a transfer": {nil, &raft.TimeoutNowRequest{}, true},
		"shorter: candidate with less": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			vote(4, 3, 9), false},
		"shorter: pre-vote": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			&raft.RequestPreVoteRequest{Term: 4, LastLogTerm: 3, LastLogIndex: 9}, false},
		"shorter: longer, of an older term": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			vote(4, 2, 90), false},
		"shorter: candidate with as much": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			vote(4, 3, 10), true},
		"shorter: a leader": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			&raft.AppendEntriesRequest{Term: 3}, true},
		"shorter: a transfer": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			&raft.TimeoutNowRequest{}, false},
		"older: candidate with as much": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			vote(6, 3, 10), false},
		"older: candidate of the term": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			vote(6, 4, 10), false},
		"older: candidate of a later one": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			vote(6, 5, 1), true},
		"older: in the term of doubt": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			vote(4, 9, 99), false},
		"older: a leader from before": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			&raft.AppendEntriesRequest{Term: 3}, false},
		"older: a leader": {&raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4},
			&raft.AppendEntriesRequest{Term: 4}, true},
	} {
		b := &ballot{mark: openMark(t, simdisk.New()), clock: time.Now, began: true}
		b.mark.Reached(raftlog.Position{Index: 8, Term: 3})
		if c.loss != nil {
			if err := b.mark.NoteLoss(*c.loss); err != nil {
				t.Fatal(err)
			}
		}
		if got := reachesRaft(b, c.message); got != c.passes {
			t.Errorf("%s: it reaches Raft: %v, want %v", name, got, c.passes)
		}
	}
}

// The log has again what it lost when it reaches the mark; after an older copy, when it
// has an entry of a later term, or what the leader has that knows.
func TestLossEnds(t *testing.T) {
	for name, c := range map[string]struct {
		loss   raftlog.Loss
		end    raftlog.Position
		whole  bool
		stands bool
	}{
		"not yet": {raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			raftlog.Position{Index: 9, Term: 3}, false, false},
		"the mark": {raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			raftlog.Position{Index: 10, Term: 3}, true, true},
		"another leader": {raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}},
			raftlog.Position{Index: 9, Term: 4}, true, true},
		"doubt: the mark": {raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 3},
			raftlog.Position{Index: 10, Term: 3}, false, false},
		"doubt: a later term": {raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 3},
			raftlog.Position{Index: 9, Term: 4}, true, true},
	} {
		disk := simdisk.New()
		h := openMark(t, disk)
		h.Reached(raftlog.Position{Index: 8, Term: 3})
		if err := h.NoteLoss(c.loss); err != nil {
			t.Fatal(err)
		}
		h.Reached(c.end)
		b := &ballot{mark: h, clock: time.Now, began: true}
		if _, missing := h.Lost(); missing == c.whole || (b.stands() == nil) != c.stands {
			t.Errorf("%s: missing %v, stands: %v", name, missing, b.stands())
		}
		if l, missing := openMark(t, disk.Kill()).Lost(); missing != (l.Doubt > 0) || c.whole && missing {
			t.Errorf("%s, restarted: %v, %v", name, l, missing)
		}
	}
}

func TestNoVoteBeforeTheOthersAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &ballot{mark: openMark(t, simdisk.New()), clock: time.Now}
		vote := &raft.RequestVoteRequest{Term: 9, LastLogTerm: 9, LastLogIndex: 9}
		entries := &raft.AppendEntriesRequest{Term: 9, Entries: []*raft.Log{{Index: 10, Term: 9}}}
		for range 2 { // before it asks, too
			if reachesRaft(b, vote) || b.stands() == nil || b.ready() == nil {
				t.Error("a node votes before it has asked")
			}
			if reachesRaft(b, entries) || !reachesRaft(b, &raft.AppendEntriesRequest{Term: 9}) {
				t.Error("a node acknowledges entries before it has asked, or follows no leader")
			}
			b.ask(time.Second)
		}
		time.Sleep(time.Second)
		if !reachesRaft(b, vote) || !reachesRaft(b, entries) || b.stands() != nil {
			t.Error("a node waits for ever")
		}
		b.ask(time.Second)
		b.asked()
		if !reachesRaft(b, vote) {
			t.Error("a node waits for those who have answered")
		}
	})
}

// A term that others were in when this node started is over for it: it may have promised
// something in it, and have lost that with its data.
func TestTermsOfOthersAreOver(t *testing.T) {
	b := &ballot{mark: openMark(t, simdisk.New()), clock: time.Now, began: true}
	b.past(7)
	b.past(5)
	for name, c := range map[string]struct {
		message any
		passes  bool
	}{
		"a vote in it":             {&raft.RequestVoteRequest{Term: 7}, false},
		"a vote before it":         {&raft.RequestVoteRequest{Term: 6}, false},
		"a vote after it":          {&raft.RequestVoteRequest{Term: 8}, true},
		"its leader":               {&raft.AppendEntriesRequest{Term: 7}, true},
		"the leader of an earlier": {&raft.AppendEntriesRequest{Term: 6}, false},
	} {
		if got := reachesRaft(b, c.message); got != c.passes {
			t.Errorf("%s reaches Raft: %v, want %v", name, got, c.passes)
		}
	}
}

// Each node tells what term it was in, and that of an older turnlog, which cannot tell what
// it saw, ends no doubt.
func TestAnswersOfOthers(t *testing.T) {
	c := newCluster(t, 1)
	c.leader()
	c.addrs["n9"] = freeAddr(t)
	n := c.open("n9")
	defer n.Close()
	n.lead.setLeader("n1")
	if err := n.mark.NoteLoss(raftlog.Loss{Doubt: 1}); err != nil {
		t.Fatal(err)
	}
	told, err := c.nodes["n1"].answerSeen(peer.Facts{NodeID: "n9"}, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	answered := make(answers)
	n.heard(answered, "n1", told, nil)
	if floor := n.ballot.forgotten(); floor != c.nodes["n1"].stable.Promised() || floor == 0 {
		t.Errorf("it was told of term %d", floor)
	}
	if n.trust(answered); !answered["n1"] {
		t.Error("what the leader has seen does not count")
	}
}

// A leader of an older turnlog, which does not know what a node acknowledged, does not end its
// doubt, though its log would.
func TestOldLeaderEndsNoDoubt(t *testing.T) {
	c := newCluster(t, 1)
	n := c.leader() // its own leader: the log has entries of the leader's term
	put(t, n, "s", "x")
	if err := n.mark.NoteLoss(raftlog.Loss{Doubt: n.raft.Load().CurrentTerm()}); err != nil {
		t.Fatal(err)
	}
	inDoubt := func() bool { _, missing := n.mark.Lost(); return missing }
	answered := make(answers)
	n.heard(answered, n.id, nil, &peer.RemoteError{})
	if n.trust(answered); !inDoubt() || !answered.has(n.id) {
		t.Errorf("the answers are %v, and an older turnlog ended the doubt", answered)
	}
	answered[n.id] = true
	if n.trust(answered); inDoubt() {
		t.Error("a leader that knows does not end the doubt")
	}
}

// A leader ends a doubt by entries of its term, unless there may have been a later leader, of
// whose entries it does not know.
func TestLeaderThatEndsADoubt(t *testing.T) {
	l := raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 5, Restored: true}
	for _, c := range []struct {
		term uint64
		end  raftlog.Position
		want bool
	}{
		{3, raftlog.Position{Index: 12, Term: 3}, false}, // others were in term 5
		{4, raftlog.Position{Index: 12, Term: 4}, false},
		{5, raftlog.Position{Index: 12, Term: 4}, false}, // it has not sent anything of its term yet
		{5, raftlog.Position{Index: 11, Term: 5}, true},
		{6, raftlog.Position{Index: 11, Term: 6}, true},
	} {
		if got := l.EndedBy(c.term, c.end); got != c.want {
			t.Errorf("a leader of term %d and a log up to %v end it: %v", c.term, c.end, got)
		}
	}
}

// The time in which the others are asked does not pass while Raft still reads its log.
func TestOthersAreAskedAlsoIfTheLogIsLong(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c := newSimCluster(t, 1, dir, 3)
		defer c.abandon()
		c.recover()
		c.leader()
		c.halt("n1")
		c.within(10*time.Second, "the others have a leader", func() bool { return c.leader() != nil })
		c.cut("n1", c.others("n1"), true, true)
		c.slowReads = maxAskTime
		c.start("n1")
		n := c.node("n1")
		c.within(time.Minute, "it has read its log", func() bool { return n.raft.Load() != nil })
		if n.ballot.ready() == nil {
			t.Error("it votes, and has asked nobody")
		}
		c.slowReads = 0
		c.recover()
	})
}

// A candidate whose term is over for a node in doubt hears which one is, so that it need not
// come to it election by election.
func TestRefusedCandidateHearsTheTermOfDoubt(t *testing.T) {
	b := &ballot{mark: openMark(t, simdisk.New()), clock: time.Now, began: true}
	if err := b.mark.NoteLoss(raftlog.Loss{Had: raftlog.Position{Index: 10, Term: 3}, Doubt: 4000}); err != nil {
		t.Fatal(err)
	}
	answers := make(chan raft.RPCResponse, 1)
	if !b.answer(raft.RPC{Command: &raft.RequestVoteRequest{Term: 4}, RespChan: answers},
		slog.New(slog.DiscardHandler)) {
		t.Fatal("Raft is to answer")
	}
	if r := (<-answers).Response.(*raft.RequestVoteResponse); r.Granted || r.Term != 4000 {
		t.Errorf("answer: %+v", r)
	}
}

// A term that has two leaders, because a node voted twice in it, has two logs. A node that has
// entries of one of them takes none of the other: it would take its own for those.
func TestMessageOfASecondLeader(t *testing.T) {
	c := newCluster(t, 3)
	put(t, c.leader(), "s", "x")
	f := c.follower()
	last, err := f.logs.LastIndex()
	var log raft.Log
	if err = errors.Join(err, f.logs.GetLog(last, &log)); err != nil {
		t.Fatal(err)
	}
	m := &raft.AppendEntriesRequest{Term: log.Term, Entries: []*raft.Log{&log}}
	if err := f.logs.CheckSame(m.Entries); err != nil {
		t.Errorf("an entry that is sent again: %v", err)
	}
	log.Data = append(slices.Clone(log.Data), 0)
	if reachesRaft(f.ballot, m) {
		t.Error("the message of a second leader reaches Raft")
	}
	if err := f.reason(); err == nil || !strings.Contains(err.Error(), "two nodes led") {
		t.Errorf("the node stopped because of %v", err)
	}
	c.kill(f.id)
	if _, err := Open(c.config(f.id)); err == nil || !strings.Contains(err.Error(), f.reason().Error()) {
		t.Errorf("the node is started again: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(c.dir, f.id)); err != nil {
		t.Fatal(err)
	}
	n, err := Open(c.config(f.id))
	if err != nil {
		t.Fatalf("with an empty directory: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
