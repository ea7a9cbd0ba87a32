package redis

import (
	"context"
	"net"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// watchLeader tells this node's subscribers of each change of the leader.
func (s *Server) watchLeader(ctx context.Context) {
	last := ""
	for {
		id, changed := s.engine.Leader()
		if id != "" && id != last {
			if last != "" {
				s.announceSwitch(ctx, last, id)
			}
			last = id
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) announceSwitch(ctx context.Context, from, to string) {
	cl, err := s.engine.Cluster(ctx)
	if err != nil {
		return
	}
	oldHost, oldPort := place(cl, from)
	host, port := place(cl, to)
	if oldHost == "" || host == "" {
		return
	}
	s.hub.announce(command.SwitchMaster, command.MasterName+" "+oldHost+" "+oldPort+" "+host+" "+port)
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
