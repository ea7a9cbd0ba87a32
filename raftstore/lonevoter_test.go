package raftstore

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// The only voter of a cluster waits for no leader, whether or not other nodes could reach it: it
// leads long before its election timeout.
func TestTheOnlyVoterLeadsAtOnce(t *testing.T) {
	for name, closed := range map[string]string{"open": "", "closed": "it is a test's"} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			n, err := Open(Config{NodeID: "n1", DataDir: t.TempDir(), Peers: Peers{Listener: l, Closed: closed},
				Consensus: Consensus{Heartbeat: time.Hour}, Calls: CallBounds{LeaderWait: 20 * time.Second}})
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
