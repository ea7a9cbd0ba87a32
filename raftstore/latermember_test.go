package raftstore

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// A copy of n3's directory is from before n4 became a member. What n3 acknowledged since, n4
// alone has seen, and n4 neither leads nor stands for election. n3 hears of it nevertheless:
// else n2, which lacks it, would lead with the vote of n3.
func TestCopyFromBeforeAnotherMembershipLosesNothing(t *testing.T) {
	w := newWires()
	c := newCluster(t, 3, w.option, patient)
	defer c.killAll() // patient nodes do not hand over
	put(t, c.elect("n1"), "s", "a")
	c.recordedAll()
	c.level()
	dir, aside := filepath.Join(c.dir, "n3"), t.TempDir()
	c.stop("n3")
	if err := os.CopyFS(aside, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	c.isolate(w, "n2", []string{"n3"}, true) // n2 sees no more of n3
	c.start("n3")
	n4 := c.replaced("n1", "n4")
	c.level()
	c.isolate(w, "n2", []string{"n4"}, true)
	put(t, n4, "s", "b") // n3 and n4 acknowledge it
	n4.saveSightings()
	c.killAll()
	restore(t, aside, dir)
	c.isolate(w, "n2", []string{"n3", "n4"}, false)
	// stands by itself
	never := func(cfg *Config) { cfg.Consensus.Heartbeat, cfg.Consensus.Election = 10*hang, 10*hang }
	n2, n3 := c.start("n2", never), c.start("n3", never)
	c.start("n4", never)
	eventuallyTrue(t, "n3 hears what it has lost", func() bool { _, missing := n3.mark.Lost(); return missing })
	if end, err := n2.logs.End(); err != nil || c.wouldVote("n3", "n2", end) {
		t.Fatalf("n3 would vote for n2, which ends at %v, %v", end, err)
	}
	c.elect("n4")
	for id, r := range c.nodes {
		eventuallyTrue(t, id+" has all writes",
			func() bool { return slices.Equal(texts(t, r, "s", turn.Linearizable), []string{"a", "b"}) })
	}
	eventuallyTrue(t, "n3 votes again", func() bool { _, missing := n3.mark.Lost(); return !missing })
	c.sameState()
}

// replaced adds a member, which leads then, and removes another one.
func (c *cluster) replaced(old, by string) *running {
	c.t.Helper()
	c.addrs[by] = freeAddr(c.t)
	c.start(by, func(cfg *Config) { cfg.Join = true })
	c.change(func(l *running) error { return l.AddNode(c.t.Context(), by, c.addrs[by]) })
	c.recordedAll()
	leader := c.elect(by)
	c.change(func(l *running) error { return l.RemoveNode(c.t.Context(), old) })
	c.kill(old) // a patient node takes its time to learn of its removal
	delete(c.addrs, old)
	c.recordedAll()
	return leader
}

// A node that starts does not vote before those have spoken whom others name to it, and lets them
// in until then. After that it names no new node.
func TestNamedMembersAreAwaited(t *testing.T) {
	c := reserve(t, 1)
	n := c.open("n1")
	defer n.Close()
	n.ballot.Ask(hang)
	answered := answers{"n2": true}
	if !n.heardAll([]string{"n2"}, answered) || n.maySpeak("n9") {
		t.Error("a node is awaited that no other named")
	}
	b, err := json.Marshal(seenReply{seenAnswer{Own: 1}, []string{"n1", "n2", "n9"}})
	if err != nil {
		t.Fatal(err)
	}
	if !n.compare("n2", append([]byte{answerOK}, b...)) {
		t.Fatal("n2 could say nothing")
	}
	if n.heardAll([]string{"n2"}, answered) {
		t.Error("n9 is not awaited")
	}
	if !n.maySpeak("n9") {
		t.Error("n9 is not let in")
	}
	self := n.ident.Get().Incarnation
	n.toldUnasked("n9", seenAnswer{sighting{self, 5, 2, 2}, 3})
	<-n.signals.peerConnected // it is asked in return, once: it may be starting, too
	n.toldUnasked("n9", seenAnswer{sighting{self, 5, 2, 2}, 3})
	if len(n.signals.peerConnected) > 0 {
		t.Error("each question is answered by another one")
	}
	if !n.heardAll([]string{"n2"}, answered) {
		t.Error("n9 is awaited though it has spoken")
	}
	if l, missing := n.mark.Lost(); !missing || l.Had != (raftlog.Position{Index: 5, Term: 2}) || l.Doubt != 3 {
		t.Errorf("what n9 has seen is lost: %v, %v", l, missing)
	}
	n.ballot.Asked()
	n.learnMembers([]string{"n10"})
	if !n.heardAll([]string{"n2"}, answered) || n.maySpeak("n9") {
		t.Error("members are named after the start")
	}
}

// unreached is a listener to which no node connects.
type unreached struct {
	closed context.Context
	close  context.CancelFunc
}

func (l unreached) Accept() (net.Conn, error) { <-l.closed.Done(); return nil, net.ErrClosed }
func (l unreached) Close() error              { l.close(); return nil }
func (l unreached) Addr() net.Addr            { return new(net.TCPAddr) }

// A node that starts, and is named to another one that it does not know, is dialed by that one in
// time: its pause between two dials is shorter than the wait for what it has to say.
func TestNamedMembersDialInTime(t *testing.T) {
	c := reserve(t, 1)
	for _, heartbeat := range []time.Duration{100 * time.Millisecond, 600 * time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var last time.Time
			var longest time.Duration
			n := c.open("n1", func(cfg *Config) {
				closed, closes := context.WithCancel(context.Background())
				cfg.Peers.Listener = unreached{closed, closes}
				cfg.Consensus.Heartbeat = heartbeat
				cfg.Peers.Dial = func(context.Context, string) (net.Conn, error) {
					if now := time.Now(); !last.IsZero() {
						longest = max(longest, now.Sub(last))
					}
					last = time.Now()
					return nil, errors.New("not there")
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			n.net.SetPeers(map[string]string{"n2": "n2"})
			done := make(chan error, 1)
			go func() { done <- n.net.Run(ctx) }()
			time.Sleep(time.Hour)
			cancel()
			if err := errors.Join(<-done, n.Close()); err != nil {
				t.Fatal(err)
			}
			if asks := n.askTime(); longest == 0 || longest > asks/2 {
				t.Errorf("a pause of %v between two dials, a node waits %v for the answers", longest, asks)
			}
		})
	}
}

// What nodes of other versions do not know of each other's messages they pass over.
func TestQuestionsOfOtherVersions(t *testing.T) {
	b, err := json.Marshal(seenQuestion{sighting: sighting{Index: 9, Term: 4}}.to(sighting{"x", 1, 2, 3}))
	if err != nil {
		t.Fatal(err)
	}
	var old sighting
	if err := json.Unmarshal(b, &old); err != nil || old != (sighting{Index: 9, Term: 4}) {
		t.Errorf("an older version reads the question as %+v, %v", old, err)
	}
	var q seenQuestion
	if err := json.Unmarshal([]byte(`{"index":9,"term":4,"boot":7}`), &q); err != nil || q.Seen != nil {
		t.Errorf("the question of an older version is %+v, %v", q, err)
	}
	if b, err = json.Marshal(seenReply{seenAnswer{sighting{"x", 1, 2, 3}, 4}, []string{"n1"}}); err != nil {
		t.Fatal(err)
	}
	var answer seenAnswer
	if err := json.Unmarshal(b, &answer); err != nil || answer != (seenAnswer{sighting{"x", 1, 2, 3}, 4}) {
		t.Errorf("an older version reads the answer as %+v, %v", answer, err)
	}
}
