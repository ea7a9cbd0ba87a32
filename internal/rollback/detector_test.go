package rollback

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/ballot"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/internal/vote"
)

// fakeCluster is a cluster as node n1 knows it.
type fakeCluster struct {
	members []string
	leader  string
	term    uint64
	stale   string // an incarnation that was replaced
}

func (c *fakeCluster) Members() []string { return append([]string(nil), c.members...) }

func (c *fakeCluster) Voters() (others []string, self bool) {
	for _, id := range c.members {
		if id == "n1" {
			self = true
		} else {
			others = append(others, id)
		}
	}
	return others, self
}

func (c *fakeCluster) Known() []string            { return c.members }
func (c *fakeCluster) Replaced(f peer.Facts) bool { return c.stale != "" && f.Incarnation == c.stale }
func (c *fakeCluster) Leader() string             { return c.leader }
func (c *fakeCluster) Term() uint64               { return c.term }

// node is what a Detector of node n1 works with, on a simulated disk.
type node struct {
	*Detector
	cluster *fakeCluster
	ballot  *ballot.Ballot
	end     raftlog.Position // of its log
	failed  error
}

const self = "directory of n1"

func newNode(t *testing.T, members ...string) *node {
	t.Helper()
	disk, log := simdisk.New(), slog.New(slog.DiscardHandler)
	halt := func(err error) { panic(err) }
	if err := disk.MkdirAll("/data"); err != nil {
		t.Fatal(err)
	}
	terms, err := vote.Open("/data", vote.Config{Disk: disk, Halt: halt, Logger: log,
		Member: func() (bool, error) { return false, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terms.Close() })
	mark, err := raftlog.OpenHighWater(disk, "/data", self, halt, log)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{cluster: &fakeCluster{members: members}}
	n.ballot = ballot.New(ballot.Config{Mark: mark, Clock: time.Now})
	n.Detector = New(Config{
		Node: "n1", Incarnation: self, Boot: 1, Seen: observations(t), Mark: mark, Terms: terms,
		LogEnd:  func() (raftlog.Position, error) { return n.end, nil },
		Cluster: n.cluster, Ballot: n.ballot, Whole: func() {},
		Fail: func(err error) { n.failed = err }, Failed: func() error { return n.failed }, Logger: log,
	})
	return n
}

func observations(t *testing.T) *Observations {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// encoded is a message of another node.
func encoded(t *testing.T, m any) []byte {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A node was in a term without being seen in it by those that tell: the doubt goes as far as the
// terms that they were in themselves, whatever order they answer in.
func TestDoubtIncludesTheTermsOfOthers(t *testing.T) {
	more := statement{Observation{Index: 5, Term: 2, Promised: 2}, 2}
	nothing := statement{Own: 3}
	for name, told := range map[string][]statement{
		"one node":              {{Observation{Index: 5, Term: 2, Promised: 2}, 3}},
		"the higher term last":  {more, nothing},
		"the higher term first": {nothing, more},
	} {
		n := newNode(t)
		for _, a := range told {
			n.compare("n2", encoded(t, a))
		}
		n.ballot.Ask(0)
		if err := n.ballot.Grants(4, raftlog.Position{Index: 6, Term: 3}); err == nil {
			t.Errorf("%s: it votes for a candidate of a term in which it may have acknowledged more", name)
		}
		if err := n.ballot.Grants(5, raftlog.Position{Index: 6, Term: 4}); err != nil {
			t.Errorf("%s: it does not vote for a candidate of a later term: %v", name, err)
		}
		n.cfg.Mark.Reached(raftlog.Position{Index: 6, Term: 3})
		if _, missing := n.cfg.Mark.Lost(); !missing {
			t.Errorf("%s: an entry of that term ends the doubt", name)
		}
		if n.failed != nil {
			t.Errorf("%s: %v", name, n.failed)
		}
	}
}

// Others may have seen no more of a node's log than it has, and a later term that it was in: then it has
// forgotten a vote. What it remembers is no loss.
func TestForgottenVoteIsALoss(t *testing.T) {
	for _, remembers := range []bool{false, true} {
		n := newNode(t)
		if remembers {
			n.cfg.Terms.SetTerm(4)
		}
		n.compare("n2", encoded(t, statement{Observation: Observation{Promised: 4}}))
		l, missing := n.cfg.Mark.Lost()
		if missing == remembers || missing && l.Doubt != 4 || n.cfg.Terms.Promised() != 4 || n.failed != nil {
			t.Errorf("remembers: %v: loss %+v, %v; term %d; %v", remembers, l, missing, n.cfg.Terms.Promised(),
				n.failed)
		}
	}
}

// The terms of others do not prolong the doubt of a node whose log was damaged: it knows what
// terms it was in.
func TestDamageIsNoCopy(t *testing.T) {
	n := newNode(t)
	if err := n.cfg.Mark.NoteLoss(raftlog.Loss{Had: raftlog.Position{Index: 5, Term: 2}, Doubt: 2}); err != nil {
		t.Fatal(err)
	}
	n.compare("n2", encoded(t, statement{Own: 3}))
	if l, _ := n.cfg.Mark.Lost(); l.Doubt != 2 {
		t.Errorf("the doubt includes term %d", l.Doubt)
	}
}

// Each node tells what term it was in, which counts as one that this node was in.
func TestAnswersOfOthers(t *testing.T) {
	n, other := newNode(t), newNode(t, "n2", "n1")
	other.cfg.Terms.SetTerm(4)
	told, err := other.Answer(peer.Facts{NodeID: "n1", Incarnation: self}, encoded(t, question{}))
	if err != nil {
		t.Fatal(err)
	}
	answered := make(answers)
	n.heard(answered, "n2", told, nil)
	if floor := n.ballot.Forgotten(); floor != 4 || !answered["n2"] {
		t.Errorf("it was told of term %d; the answers are %v", floor, answered)
	}
}

// A leader of an older turnlog, which does not know what a node acknowledged, does not end its
// doubt, though its log would. One that answers does.
func TestOldLeaderEndsNoDoubt(t *testing.T) {
	n := newNode(t, "n1", "n2")
	n.cluster.leader, n.cluster.term, n.end = "n2", 3, raftlog.Position{Index: 7, Term: 3}
	if err := n.cfg.Mark.NoteLoss(raftlog.Loss{Doubt: 3}); err != nil {
		t.Fatal(err)
	}
	inDoubt := func() bool { _, missing := n.cfg.Mark.Lost(); return missing }
	answered := make(answers)
	n.heard(answered, "n2", nil, &peer.RemoteError{})
	if n.endDoubt(answered); !inDoubt() || !answered.has("n2") {
		t.Errorf("the answers are %v, and an older turnlog ended the doubt", answered)
	}
	answered = make(answers)
	if n.heard(answered, "n2", nil, errors.New("not reached")); answered.has("n2") {
		t.Error("a node that was not reached has answered")
	}
	n.heard(answered, "n2", encoded(t, reply{statement: statement{Own: 3}}), nil)
	if n.endDoubt(answered); inDoubt() {
		t.Error("a leader that knows does not end the doubt")
	}
}

// A node that starts does not vote before those have spoken whom others name to it, and lets them
// in until then. After that it names no new node.
func TestNamedMembersAreAwaited(t *testing.T) {
	n := newNode(t)
	n.ballot.Ask(time.Hour)
	answered := answers{"n2": true}
	if !n.heardAll([]string{"n2"}, answered) || n.Awaits("n9") {
		t.Error("a node is awaited that no other named")
	}
	if !n.compare("n2", encoded(t, reply{statement{Own: 1}, []string{"n1", "n2", "n9"}})) {
		t.Fatal("n2 could say nothing")
	}
	if n.heardAll([]string{"n2"}, answered) {
		t.Error("n9 is not awaited")
	}
	if !n.Awaits("n9") {
		t.Error("n9 is not let in")
	}
	asks := question{Observation: Observation{Promised: 3}}.to(Observation{self, 5, 2, 2})
	for range 2 {
		if _, err := n.Answer(peer.Facts{NodeID: "n9"}, encoded(t, asks)); err != nil {
			t.Fatal(err)
		}
	}
	if len(n.soon) != 1 { // it is asked in return, once: it may be starting, too
		t.Error("it is not asked in return")
	}
	<-n.soon
	if _, err := n.Answer(peer.Facts{NodeID: "n9"}, encoded(t, asks)); err != nil || len(n.soon) > 0 {
		t.Errorf("each question is answered by another one: %v", err)
	}
	if !n.heardAll([]string{"n2"}, answered) {
		t.Error("n9 is awaited though it has spoken")
	}
	if l, missing := n.cfg.Mark.Lost(); !missing || l.Had != (raftlog.Position{Index: 5, Term: 2}) || l.Doubt != 3 {
		t.Errorf("what n9 has seen is lost: %v, %v", l, missing)
	}
	n.ballot.Asked()
	n.compare("n2", encoded(t, reply{Members: []string{"n10"}}))
	if !n.heardAll([]string{"n2"}, answered) || n.Awaits("n9") {
		t.Error("members are named after the start")
	}
}

// Only a member's question changes what is known of it, and only one of the directory that the
// cluster knows.
func TestQuestionsOfMembersCount(t *testing.T) {
	n := newNode(t, "n1", "n2")
	n.cluster.stale = "old"
	asks := encoded(t, question{Observation: Observation{Index: 4, Term: 2, Promised: 2}, Boot: 7})
	for _, from := range []peer.Facts{{NodeID: "n9", Incarnation: "x"}, {NodeID: "n2", Incarnation: "old"}} {
		if _, err := n.Answer(from, asks); err != nil {
			t.Fatal(err)
		}
		if seen := n.cfg.Seen.Last(from.NodeID); seen != (Observation{}) {
			t.Errorf("%+v is known by %+v", from, seen)
		}
	}
	for _, want := range []Observation{{}, {"x", 4, 2, 2}} { // what was known before each question
		b, err := n.Answer(peer.Facts{NodeID: "n2", Incarnation: "x"}, asks)
		var r reply
		if err = errors.Join(err, json.Unmarshal(b, &r)); err != nil || r.Observation != want {
			t.Errorf("n2 is told %+v, %v, want %+v", r, err, want)
		}
	}
}

// A node votes as soon as all members have answered.
func TestVotesWhenAllHaveAnswered(t *testing.T) {
	n := newNode(t, "n1", "n2", "n3")
	n.ballot.Ask(time.Hour)
	asked := make(chan string, 16)
	n.cfg.Ask = func(_ context.Context, id string, question []byte) ([]byte, error) {
		select {
		case asked <- id:
		default:
		}
		return []byte(`{}`), nil
	}
	whole := make(chan struct{}, 1)
	n.cfg.Whole = func() {
		select {
		case whole <- struct{}{}:
		default:
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); n.Run(ctx) }()
	<-whole
	if a, b := <-asked, <-asked; a == b || a == "n1" || b == "n1" {
		t.Errorf("it asked %s and %s", a, b)
	}
	n.Wake() // by the second round it has noted the first one's end
	<-whole
	if err := n.ballot.Ready(); err != nil {
		t.Errorf("all have answered: %v", err)
	}
	cancel()
	<-done
}

// What nodes of other versions do not know of each other's messages they pass over.
func TestQuestionsOfOtherVersions(t *testing.T) {
	b := encoded(t, question{Observation: Observation{Index: 9, Term: 4, Promised: 5}, Boot: 1 << 63, Doubt: true}.
		to(Observation{"x", 1, 2, 3}))
	var old Observation
	if err := json.Unmarshal(b, &old); err != nil || old != (Observation{Index: 9, Term: 4, Promised: 5}) {
		t.Errorf("an older version reads the question as %+v, %v", old, err)
	}
	var q question
	if err := json.Unmarshal([]byte(`{"index":9,"term":4,"boot":7}`), &q); err != nil || q.Seen != nil {
		t.Errorf("the question of an older version is %+v, %v", q, err)
	}
	var answer statement
	if err := json.Unmarshal(encoded(t, reply{statement{Observation{"x", 1, 2, 3}, 4}, []string{"n1"}}),
		&answer); err != nil || answer != (statement{Observation{"x", 1, 2, 3}, 4}) {
		t.Errorf("an older version reads the answer as %+v, %v", answer, err)
	}
}
