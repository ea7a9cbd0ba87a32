package raftstore

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

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
	if err := n4.seen.Save(); err != nil {
		t.Fatal(err)
	}
	c.killAll()
	restore(t, aside, dir)
	c.isolate(w, "n2", []string{"n3", "n4"}, false)
	// stands by itself
	never := func(cfg *Config) { cfg.Consensus.Heartbeat, cfg.Consensus.Election = 10*hang, 10*hang }
	n2, n3 := c.start("n2", never), c.start("n3", never)
	c.start("n4", never)
	eventuallyTrue(t, "n3 hears what it has lost", func() bool { _, missing := n3.data.Mark.Lost(); return missing })
	if end, err := n2.data.Log.End(); err != nil || c.wouldVote("n3", "n2", end) {
		t.Fatalf("n3 would vote for n2, which ends at %v, %v", end, err)
	}
	c.elect("n4")
	for id, r := range c.nodes {
		eventuallyTrue(t, id+" has all writes",
			func() bool { return slices.Equal(texts(t, r, "s", turn.Linearizable), []string{"a", "b"}) })
	}
	eventuallyTrue(t, "n3 votes again", func() bool { _, missing := n3.data.Mark.Lost(); return !missing })
	c.sameState()
}

// replaced adds a member, which leads then, and removes another one.
func (c *cluster) replaced(old, by string) *running {
	c.t.Helper()
	c.addrs[by] = freeAddr(c.t)
	c.start(by, func(cfg *Config) { cfg.Join = true })
	c.change(func(l *running) error { return l.members.AddNode(c.t.Context(), by, c.addrs[by]) })
	c.recordedAll()
	leader := c.elect(by)
	c.change(func(l *running) error { return l.members.RemoveNode(c.t.Context(), old) })
	c.kill(old) // a patient node takes its time to learn of its removal
	delete(c.addrs, old)
	c.recordedAll()
	return leader
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
			if asks := n.cfg.Consensus.askTime(); longest == 0 || longest > asks/2 {
				t.Errorf("a pause of %v between two dials, a node waits %v for the answers", longest, asks)
			}
		})
	}
}
