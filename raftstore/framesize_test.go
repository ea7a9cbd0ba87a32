package raftstore

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// A node that lags has the leader answer a read, also the largest that the leader answers by itself. With
// TURNLOG_LONG=1 that has as many messages with ids as the limits allow.
func TestLargestReadIsForwarded(t *testing.T) {
	c := newCluster(t, 3, patient)
	defer c.killAll()
	leader, f := c.elect("n1"), c.nodes["n2"]
	eventuallyTrue(t, "the nodes are connected", func() bool { return f.net.Connected("n1") })
	data := bytes.Repeat([]byte("x"), 64)
	most := 2000
	if os.Getenv("TURNLOG_LONG") != "" {
		most = turn.DefaultLimits().ReadMessages()
	}
	for i := 0; i < most; {
		o := &turn.Append{Key: key("s")}
		for ; len(o.Messages) < 1000 && i < most; i++ {
			o.Messages = append(o.Messages, turn.NewMessage{ID: fmt.Sprintf("%032x", i), Data: data})
		}
		if _, err := leader.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	q := &turn.Read{Key: key("s"), From: turn.FromAfter}
	want, err := leader.Query(t.Context(), q, turn.Consistency{})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := codec.EncodeQuery(q)
	if err != nil {
		t.Fatal(err)
	}
	r, again, err := f.peers.Query(t.Context(), "n1", trace.Context{}, encoded)
	if err != nil || again || len(r.Messages) != len(want.Messages) || r.More != want.More {
		t.Errorf("the leader answers with %d messages, more %v; forwarded: %d, %v, again %v, %v",
			len(want.Messages), want.More, len(r.Messages), r.More, again, err)
	}
}
