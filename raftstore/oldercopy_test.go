package raftstore

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/rollback"
	"github.com/turnlog/turnlog/turn"
)

// A copy of a node's directory from before the node was added is put back. The node knows no
// member that it could ask what it has forgotten. The candidate that asks it for its vote tells it.
func TestCopyFromBeforeItsMembershipLosesNothing(t *testing.T) {
	w := newWires()
	c := newCluster(t, 2, w.option)
	c.leadBy("n1")
	put(t, c.nodes["n1"], "s", "a")
	joins := func(cfg *Config) { cfg.Join = true }
	c.addrs["n3"] = freeAddr(t)
	dir, aside := filepath.Join(c.dir, "n3"), t.TempDir()
	c.start("n3", joins)
	c.stop("n3")
	if err := os.CopyFS(aside, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	c.start("n3", joins)
	c.change(func(l *running) error { return l.members.AddNode(t.Context(), "n3", c.addrs["n3"]) })
	c.recordedAll()
	c.level()
	eventuallyTrue(t, "n2 has seen something of n3", func() bool { return c.nodes["n2"].seen.Last("n3").Index > 0 })
	c.leadBy("n1")
	c.isolate(w, "n2", []string{"n1", "n3"}, true)
	put(t, c.nodes["n1"], "s", "b") // n1 and n3 acknowledge it
	eventuallyTrue(t, "n2 does not lead", func() bool { return !c.nodes["n2"].raft.Leads() })
	c.kill("n1")
	c.kill("n3")
	restore(t, aside, dir)
	n3 := c.start("n3", joins)
	c.isolate(w, "n2", []string{"n1", "n3"}, false)
	eventuallyTrue(t, "n3 hears what it has lost", func() bool {
		if c.nodes["n2"].raft.Leads() {
			t.Fatal("n2 leads without a write that was acknowledged")
		}
		_, missing := n3.data.Mark.Lost()
		return missing
	})
	c.stop("n3")
	n3 = c.start("n3", joins) // it knows of the loss still, and of no member
	c.start("n1")
	for _, id := range ids(3) {
		eventuallyTrue(t, id+" has all writes",
			func() bool { return slices.Equal(texts(t, c.nodes[id], "s", turn.Linearizable), []string{"a", "b"}) })
	}
	eventuallyTrue(t, "n3 votes again", func() bool { _, missing := n3.data.Mark.Lost(); return !missing })
	c.ready()
	c.sameState()
}

// statement is what a node says that it has seen of another one, and the term that it was in.
type statement struct {
	Incarnation string `json:"incarnation"`
	Index       uint64 `json:"index"`
	Term        uint64 `json:"term"`
	Promised    uint64 `json:"promised"`
	Own         uint64 `json:"own_term"`
}

// says is the meeting of a node that says so when it opens a connection of Raft's.
func says(t *testing.T, s statement) peer.Meeting {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return peer.Meeting{Purpose: peer.Stream, Said: b}
}

// A node that is killed while it notes what it has lost starts again, and notes the rest.
func TestKilledWhileItNotesALoss(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	c.leadBy("n1")
	put(t, c.nodes["n1"], "s", "a")
	c.level()
	c.stop("n2")
	n := c.open("n2")
	end, term := n.data.Mark.Position(), n.data.Vote.Promised()
	if err := n.data.Vote.Close(); err != nil { // as a full disk: the term cannot be written
		t.Fatal(err)
	}
	said := says(t, statement{n.data.Identity.Get().Incarnation, end.Index + 3, term + 2, term + 2, term + 2})
	close(n.checked)
	done := make(chan struct{})
	go func() { defer close(done); _ = n.detector.Begin(t.Context(), said) }()
	<-done
	if n.failure.Reason() == nil {
		t.Fatal("the term was written")
	}
	n.Close() // it fails to close again what is closed
	n = c.open("n2")
	if l, missing := n.data.Mark.Lost(); !missing || l.Doubt < term+2 {
		t.Errorf("it has lost %v, %v", l, missing)
	}
	n2 := c.run(n)
	eventuallyTrue(t, "n2 votes again", func() bool {
		if err := n2.failure.Reason(); err != nil {
			t.Fatalf("n2 stops: %v", err)
		}
		_, missing := n2.data.Mark.Lost()
		return !missing
	})
	c.ready()
	c.sameState()
}

// A node is killed when it has cut its log, as the leader of a later term told it to, and has not
// stored yet what takes the place of that. The others had seen it with more; it has lost nothing.
func TestRightlyCutLogIsNoCopy(t *testing.T) {
	c := newCluster(t, 3)
	c.recordedAll()
	c.leadBy("n1")
	put(t, c.nodes["n1"], "s", "a")
	c.level()
	c.stop("n2")
	n := c.open("n2")
	end := n.data.Mark.Position()
	if err := n.data.Log.StoreLogs(entries(end.Index+1, end.Index+1, end.Term)); err != nil {
		t.Fatal(err)
	}
	n1 := c.nodes["n1"]
	inc := n.data.Identity.Get().Incarnation
	n1.seen.Met("n2",
		rollback.Observation{Incarnation: inc, Index: end.Index + 1, Term: end.Term, Promised: end.Term}, 0)
	if err := n.data.Log.DeleteRange(end.Index+1, end.Index+1); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n2 := c.start("n2")
	c.asked("n2")
	for _, id := range []string{"n1", "n3"} {
		told := c.nodes[id].detector.Say(peer.Meeting{Purpose: peer.Stream, Remote: n2.facts()})
		if err := n2.detector.Begin(t.Context(), peer.Meeting{Purpose: peer.Stream, Said: told}); err != nil {
			t.Fatal(err)
		}
	}
	if l, missing := n2.data.Mark.Lost(); missing {
		t.Errorf("a healthy node has lost %v", l)
	}
	put(t, n1, "s", "b")
	c.sameState()
}

// What a node says that opens a connection puts no healthy node in doubt, nor keeps it from
// voting: be the other behind, ahead in its term, or one that knew another directory.
func TestWhatOthersSayHarmsNoHealthyNode(t *testing.T) {
	c := newCluster(t, 1)
	n := c.leader()
	put(t, n, "s", "x")
	eventuallyTrue(t, "n1 has asked", func() bool { return n.ballot.Ready() == nil })
	at, term, self := n.data.Mark.Position(), n.data.Vote.Promised(), n.data.Identity.Get().Incarnation
	for name, s := range map[string]statement{
		"nothing":             {},
		"behind":              {self, 1, 1, 1, 1},
		"all":                 {self, at.Index, at.Term, term, term},
		"a candidate":         {self, at.Index, at.Term, term, term + 7},
		"another directory's": {"other", at.Index + 9, term + 9, term + 9, term + 9},
	} {
		if err := n.detector.Begin(t.Context(), says(t, s)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if l, missing := n.data.Mark.Lost(); missing {
			t.Errorf("%s: it has lost %v", name, l)
		}
		if err := n.ballot.Grants(term+1, at); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := n.detector.Begin(t.Context(), peer.Meeting{Purpose: peer.Stream}); err != nil {
		t.Errorf("an older version: %v", err)
	}
	if err := n.detector.Begin(t.Context(), peer.Meeting{Purpose: peer.Stream, Said: []byte("{")}); err == nil {
		t.Error("what cannot be read is let in")
	}
}

// Before the log was held against its mark, which may be behind it after a power cut, nothing
// is judged.
func TestNothingIsJudgedBeforeTheLogIsChecked(t *testing.T) {
	c := reserve(t, 1)
	synctest.Test(t, func(t *testing.T) {
		n := c.open("n1")
		defer n.Close()
		said := n.detector.Say(peer.Meeting{Purpose: peer.Stream, Remote: n.facts()})
		ended := make(chan error, 1)
		begin := func(ctx context.Context) {
			go func() { ended <- n.detector.Begin(ctx, peer.Meeting{Purpose: peer.Stream, Said: said}) }()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		begin(ctx)
		if len(ended) > 0 {
			t.Fatal("a stream begins before the log was checked")
		}
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("it ends with: %v", err)
		}
		begin(t.Context())
		close(n.checked)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n.detector.Say(peer.Meeting{Purpose: peer.RPC, Remote: n.facts()}) != nil {
			t.Error("something is said on another connection")
		}
	})
}

// A follower acknowledges an entry, and is killed and put back to an older copy before the leader,
// which hangs, reads that. The copy helps to elect another leader, without the entry.
func TestUnreadAcknowledgementOfAnOlderCopy(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not tell of an end behind unread input")
	}
	t.Parallel()
	for range 10 {
		if unreadAcknowledgement(already{t}) {
			return
		}
	}
	t.Fatal("a request was always on its way when answers were held")
}

// already is a test that runs beside others already, and starts more than one cluster.
type already struct{ testing.TB }

// unreadAcknowledgement reports whether the story took place. It does not if an answer is held that the
// leader waits for before it sends the entry.
func unreadAcknowledgement(t testing.TB) bool {
	w := newWires()
	c := newCluster(t, 3, w.option, func(cfg *Config) {
		if cfg.NodeID == "n1" { // as one that hangs, it does not notice that it is alone
			cfg.Consensus.Heartbeat, cfg.Consensus.Election, cfg.Consensus.Lease = hang, hang, hang
		}
	})
	c.recordedAll()
	put(t, c.leader(), "s", "a")
	c.level()
	dir, aside := filepath.Join(c.dir, "n2"), t.TempDir()
	c.stop("n2")
	if err := os.CopyFS(aside, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	n2 := c.start("n2")
	eventuallyTrue(t, "n2 has read its log", func() bool { return n2.raft.Load() != nil })
	c.leadBy("n1")
	n1 := c.nodes["n1"]
	c.level()
	c.kill("n3")
	// Nothing is in flight to n2: what waits for a held answer would hold up the entry.
	eventuallyTrue(t, "n2 knows that all is committed", func() bool {
		return n2.raft.Load().CommitIndex() == n1.raft.Load().LastIndex()
	})
	w.holdAnswers("n1", c.addrs["n2"], true)
	outcome := make(chan error, 1)
	at := n2.data.Log.LastDurable()
	go func() {
		_, err := n1.Apply(t.Context(), appendOp("s", "b"))
		outcome <- err
	}()
	for end := time.Now().Add(5 * time.Second); n2.data.Log.LastDurable() <= at; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.holdAnswers("n1", c.addrs["n2"], false)
			if err := <-outcome; err != nil {
				t.Fatal(err)
			}
			c.killAll()
			return false
		}
	}
	c.kill("n2")
	c.isolate(w, "n1", []string{"n2", "n3"}, true)
	restore(t, aside, dir)
	n2 = c.start("n2")
	n3 := c.start("n3")
	eventuallyTrue(t, "there is another leader", func() bool { return n2.raft.Leads() || n3.raft.Leads() })
	put(t, n3, "s", "c")
	if !n1.raft.Leads() {
		t.Fatal("n1 has noticed that it is alone")
	}
	w.holdAnswers("n1", c.addrs["n2"], false)
	eventuallyTrue(t, "n1 has read the acknowledgement", func() bool { return w.held("n1", c.addrs["n2"]) == 0 })
	c.isolate(w, "n1", []string{"n2", "n3"}, false)
	if err := <-outcome; err != nil {
		t.Fatal(err)
	}
	if got := texts(t, n3, "s", turn.Linearizable); !slices.Equal(got, []string{"a", "c", "b"}) {
		t.Fatalf("all was acknowledged, and %v is left", got)
	}
	c.sameState()
	return true
}
