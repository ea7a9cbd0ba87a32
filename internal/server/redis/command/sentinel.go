package command

import (
	"context"
	"net"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// MasterName is the name under which a Sentinel would know the cluster, the one
// that clients assume if they are told none. Its master is the leader: every node
// takes every request, but there it is not forwarded.
const MasterName = "mymaster"

const errNoMaster Error = "ERR No such master with that name"

// sentinel makes the handler of a SENTINEL subcommand, which answers about the
// cluster. named: its argument must be masterName, else it answers unknown.
func sentinel(named bool, unknown Action, answer func(*resp.Writer, turn.Cluster)) Handler {
	return func(req *Request, args [][]byte) Action {
		if named && string(args[2]) != MasterName {
			return unknown
		}
		return Alone(func(ctx context.Context) (Reply, error) {
			cl, err := req.Backend.engine.Cluster(ctx)
			if err != nil {
				return nil, err
			}
			return func(w *resp.Writer) { answer(w, cl) }, nil
		})
	}
}

// sentinelMasters is SENTINEL MASTERS. StackExchange.Redis asks every server that
// and takes one that answers for a Sentinel and nothing else.
func sentinelMasters(req *Request, args [][]byte) Action {
	if strings.HasPrefix(req.Client.Library(), "SE.Redis") {
		return errUnknownCommand(args)
	}
	return sentinel(false, nil, func(w *resp.Writer, cl turn.Cluster) {
		w.Array(1)
		writeMaster(w, cl)
	})(req, args)
}

// leader returns the leader's place, of which the address is empty if there is no
// leader.
func leader(cl turn.Cluster) (n turn.Node, host, port string) {
	for _, n := range cl.Nodes {
		if n.ID == cl.Leader && cl.Leader != "" {
			host, port, _ := net.SplitHostPort(n.RESPAddr)
			return n, host, port
		}
	}
	return n, "", ""
}

// others returns the nodes that announced an address, without the one of that id.
func others(cl turn.Cluster, id string) []turn.Node {
	var ns []turn.Node
	for _, n := range cl.Nodes {
		if n.ID != id && n.RESPAddr != "" {
			ns = append(ns, n)
		}
	}
	return ns
}

func writeMasterAddr(w *resp.Writer, cl turn.Cluster) {
	_, host, port := leader(cl)
	if host == "" {
		w.NullArray()
		return
	}
	WriteNames(w, []string{host, port})
}

func writeMaster(w *resp.Writer, cl turn.Cluster) {
	n, host, port := leader(cl)
	flags := "master"
	if host == "" {
		host, port, flags = "127.0.0.1", "0", "master,s_down,o_down"
	}
	writeMap(w, "name", MasterName, "ip", host, "port", port, "runid", n.ID, "flags", flags,
		"link-pending-commands", "0", "link-refcount", "1", "last-ping-sent", "0", "last-ok-ping-reply", "0",
		"last-ping-reply", "0",
		"down-after-milliseconds", "2500", "role-reported", "master", "config-epoch", strconv.FormatUint(cl.Term, 10),
		"num-slaves", strconv.Itoa(len(others(cl, cl.Leader))), "num-other-sentinels",
		strconv.Itoa(max(0, len(cl.Nodes)-1)),
		"quorum", strconv.Itoa(len(cl.Nodes)/2+1), "failover-timeout", "10000", "parallel-syncs", "1")
}

func writeReplicas(w *resp.Writer, cl turn.Cluster) {
	_, host, port := leader(cl)
	ns := others(cl, cl.Leader)
	w.Array(len(ns))
	for _, n := range ns {
		flags, link := "slave", "ok"
		if !n.Reachable {
			flags, link = "slave,s_down,disconnected", "err"
		}
		h, p, _ := net.SplitHostPort(n.RESPAddr)
		writeMap(w, "name", n.RESPAddr, "ip", h, "port", p, "runid", n.ID, "flags", flags, "role-reported", "slave",
			"master-link-status", link, "master-host", host, "master-port", port, "slave-priority", "100",
			"slave-repl-offset", strconv.FormatUint(n.Applied, 10), "replica-announced", "1")
	}
}

// sentinels are the other nodes, which all answer as Sentinels.
func (b *Backend) sentinels(w *resp.Writer, cl turn.Cluster) {
	ns := others(cl, b.nodeID)
	w.Array(len(ns))
	for _, n := range ns {
		h, p, _ := net.SplitHostPort(n.RESPAddr)
		writeMap(w, "name", n.ID, "ip", h, "port", p, "runid", n.ID, "flags", "sentinel", "last-ping-sent", "0",
			"down-after-milliseconds", "2500", "voted-leader", "?", "voted-leader-epoch", "0")
	}
}

func sentinelSentinels(req *Request, args [][]byte) Action {
	return sentinel(true, errNoMaster, req.Backend.sentinels)(req, args)
}

// writeMap writes a map of names and texts that alternate.
func writeMap(w *resp.Writer, pairs ...string) {
	w.Map(len(pairs) / 2)
	for _, s := range pairs {
		w.BulkString(s)
	}
}

func sentinelCommands() []Command {
	const since = "2.8.4"
	return []Command{
		{Name: "masters", Arity: 2, flags: adminOnly, ForAll: true, since: since, Handle: sentinelMasters,
			summary: "The cluster as the one master, mymaster, at the leader's address."},
		{Name: "master", Arity: 3, flags: adminOnly, ForAll: true, since: since,
			Handle: sentinel(true, errNoMaster, writeMaster), Args: "name",
			summary: "The same of one master, which is mymaster."},
		{Name: "get-master-addr-by-name", Arity: 3, flags: adminOnly, ForAll: true, since: since,
			Handle: sentinel(true, NullArray(), writeMasterAddr), Args: "name",
			summary: "The leader's address; null if there is none, or for another name."},
		{Name: "replicas", Arity: 3, flags: adminOnly, ForAll: true, since: "5.0.0",
			Handle: sentinel(true, errNoMaster, writeReplicas), Args: "name", summary: "The other nodes."},
		{Name: "slaves", Arity: 3, flags: adminOnly, ForAll: true, since: since,
			Handle: sentinel(true, errNoMaster, writeReplicas), Args: "name", summary: "The same."},
		{Name: "sentinels", Arity: 3, flags: adminOnly, ForAll: true, since: since, Handle: sentinelSentinels,
			Args: "name", summary: "The nodes other than this one, which answer as Sentinels too."},
		{Name: "help", Arity: 2, flags: "loading stale", since: "6.2.0", Handle: help("sentinel"),
			summary: "List the subcommands."},
	}
}
