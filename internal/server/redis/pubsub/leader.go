package pubsub

import (
	"cmp"
	"context"
	"net"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// announceAgain is how long a change of the leader waits for the nodes' addresses, before it is looked
// at again.
const announceAgain = 250 * time.Millisecond

// Nodes tells of the nodes of the cluster, and of their addresses.
type Nodes interface {
	Cluster(ctx context.Context) (turn.Cluster, error)
}

// WatchLeader tells this node's subscribers of each change of the leader. A node tells the others its
// address after it has started, so the change may be known before the address is. It returns when ctx ends.
func (h *Hub) WatchLeader(ctx context.Context, nodes Nodes) {
	told := ""
	for {
		id, changed := h.bus.Leader()
		if told == "" {
			told = id
		}
		if id == told || id == "" || h.announceSwitch(ctx, nodes, told, id) {
			told = cmp.Or(id, told)
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
			continue
		}
		if !signal.Wait(ctx, changed, announceAgain) {
			return
		}
	}
}

// announceSwitch reports whether the subscribers were told. They are not while the new leader's address
// is unknown. The old leader may have ended before it announced one, or be no member any more: no client
// goes by its address.
func (h *Hub) announceSwitch(ctx context.Context, nodes Nodes, from, to string) bool {
	cl, err := nodes.Cluster(ctx)
	if err != nil {
		return false
	}
	oldHost, oldPort := place(cl, from)
	host, port := place(cl, to)
	switch "" {
	case host:
		return false
	case oldHost:
		oldHost, oldPort = "0.0.0.0", "0"
	}
	h.announce(command.SwitchMaster, command.MasterName+" "+oldHost+" "+oldPort+" "+host+" "+port)
	return true
}

// place returns the address of a node, empty if it has not announced it.
func place(cl turn.Cluster, id string) (host, port string) {
	for _, n := range cl.Nodes {
		if n.ID == id {
			host, port, _ = net.SplitHostPort(n.RESPAddr)
		}
	}
	return host, port
}
