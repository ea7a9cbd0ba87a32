package raftstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// A state that a leader sends is as of when it is sent, which may be behind the entry
// of the snapshot. A node that stops before its log has caught up with its state is
// healthy: it starts again, and one other node is enough for it to serve.
func TestNodeWithAStateNewerThanItsLogStarts(t *testing.T) {
	bubble(t, func(t *testing.T, dir string) {
		c := newSimCluster(t, 2, dir, 3)
		defer c.abandon()
		defer c.net.safety.judge(t)
		c.recover()
		n := c.leader()
		late := c.others(n.id)[0]
		c.halt(late)
		for i := range 40 {
			m := turn.NewMessage{Data: make([]byte, 10)}
			if i <= 30 {
				m.Data = make([]byte, 4<<10)
			}
			if _, err := n.Apply(context.Background(),
				&turn.Append{Key: key(fmt.Sprint("s", i%4)), Messages: []turn.NewMessage{m}}); err != nil {
				t.Fatal(err)
			}
			if i == 30 {
				if err := n.Snapshot(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := n.data.State.Flush(context.Background()); err != nil { // it is sent as it is on the disk
			t.Fatal(err)
		}
		c.net.set(n.id, late, func(l *line) { l.kinds = map[messageKind]time.Duration{{rpcEntries, false}: time.Hour} })
		c.start(late)
		r := c.node(late)
		c.within(time.Minute, "the state was sent", func() bool {
			applied, _ := r.data.State.Applied()
			return applied > 0 && r.Stats().Snapshots.Installed > 0
		})
		state, _ := r.data.State.Durable()
		if end, _ := r.data.Log.LastIndex(); state <= max(end, r.data.Snapshots.Position().Index) {
			t.Fatalf("the state is at entry %d, the log ends at %d: the test shows nothing", state, end)
		}
		c.crash(late)
		c.halt(c.others(n.id)[1])
		c.net.heal()
		c.start(late)
		c.within(time.Minute, "two nodes of three serve", func() bool {
			ready, _ := c.node(late).Ready()
			return c.leader() != nil && ready
		})
		c.revive()
		c.recover()
		c.sameState()
		c.close()
	})
}
