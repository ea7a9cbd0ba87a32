package raftstore

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/ballot"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/turn"
)

// The only voter of a cluster waits for no leader, whether or not other nodes could reach it: it
// leads long before its election timeout.
func TestTheOnlyVoterLeadsAtOnce(t *testing.T) {
	for name, closed := range map[string]string{"open": "", "closed": "it is a test's"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			n, err := Open(Config{NodeID: "n1", DataDir: t.TempDir(), Peers: Peers{Listener: l, Closed: closed},
				Consensus: Consensus{Heartbeat: time.Hour}, Calls: CallBounds{LeaderWait: 10 * time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- n.Run(ctx) }()
			if _, err := n.Apply(ctx, &turn.Append{Key: turn.Key{Namespace: "0", Name: "s"},
				Messages: []turn.NewMessage{{Data: []byte("x")}}}); err != nil {
				t.Error(err)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A node that may not stand for election does not, and is told why; so is one whose Raft does not, or does
// not answer.
func TestStandingForElectionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		votes := ballot.New(ballot.Config{Mark: openMark(t), Clock: time.Now})
		trans := &transport{ballot: votes, rpcs: make(chan raft.RPC)}
		stand := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return trans.stand(ctx)
		}
		if err := stand(); err == nil || !strings.Contains(err.Error(), "has just started") {
			t.Errorf("before the others were asked: %v", err)
		}
		votes.Ask(0)
		refused := errors.New("not now")
		go func() {
			rpc := <-trans.rpcs
			rpc.Respond(nil, refused)
		}()
		if err := stand(); !errors.Is(err, refused) {
			t.Errorf("Raft says that it does not stand: %v", err)
		}
		go func() { <-trans.rpcs }()
		for _, when := range []string{"has the message", "has not"} {
			if err := stand(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the node stops while Raft %s: %v", when, err)
			}
		}
	})
}

// openMark opens the high-water mark on a disk in memory.
func openMark(t *testing.T) *raftlog.HighWater {
	t.Helper()
	h, err := raftlog.OpenHighWater(simdisk.New(), "/data", "me", func(err error) { t.Error(err) }, testLogger())
	if err != nil {
		t.Fatal(err)
	}
	return h
}
