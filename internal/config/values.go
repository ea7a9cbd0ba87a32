package config

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sort"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// Dials returns DialMap as a map.
func (c *Config) Dials() (map[string]string, error) {
	dials := map[string]string{}
	if c.Cluster.DialMap == "" {
		return dials, nil
	}
	for part := range strings.SplitSeq(c.Cluster.DialMap, ",") {
		from, to, ok := strings.Cut(strings.TrimSpace(part), "=")
		_, _, errFrom := net.SplitHostPort(from)
		_, _, errTo := net.SplitHostPort(to)
		if !ok || errFrom != nil || errTo != nil {
			return nil, fmt.Errorf("dial-map: %q is not HOST:PORT=HOST:PORT", part)
		}
		dials[from] = to
	}
	return dials, nil
}

// IDPaths returns RedisIDPath by namespace: paths, each with a name for every level.
func (c *Config) IDPaths() (map[string][][]string, error) {
	all := map[string][][]string{}
	for part := range strings.SplitSeq(c.RedisIDPath, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		ns, paths, _ := strings.Cut(part, "=")
		if err := (&turn.Count{Namespace: ns}).Validate(c.Limits.Turn()); err != nil {
			return nil, fmt.Errorf("redis-id-path %q: %w", part, err)
		}
		for path := range strings.SplitSeq(paths, ",") {
			names := strings.Split(path, ".")
			if slices.Contains(names, "") {
				return nil, fmt.Errorf("redis-id-path %q: must be NAMESPACE=path,path, a path being names with dots "+
					"between them", part)
			}
			all[ns] = append(all[ns], names)
		}
	}
	return all, nil
}

// AsksClients reports whether clients must authenticate.
func (c *Config) AsksClients() bool { return c.UsersFile != "" || c.ClientTLS.CA != "" }

// NodeCredential reports whether nodes prove to each other that they are nodes.
func (c *Config) NodeCredential() bool { return c.NodeTLS.Cert != "" || c.ClusterSecret.File != "" }

// NodeNames returns NodeTLSNames by node id; names under "" are good for any node.
func (c *Config) NodeNames() (map[string][]string, error) {
	names := map[string][]string{}
	for _, item := range list(c.NodeTLS.Names) {
		id, name, ok := strings.Cut(item, "=")
		if !ok {
			id, name = "", item
		} else if id == "" || name == "" {
			return nil, fmt.Errorf("node-tls-names: %q is not ID=NAME or NAME", item)
		}
		names[id] = append(names[id], name)
	}
	return names, nil
}

// Hosts returns the names under which clients may address the node over HTTP.
func (c *Config) Hosts() []string {
	return append(list(c.HTTP.Hosts), c.Listen.HTTP, c.Advertise.HTTP)
}

// Origins returns the origins of web pages that may use the node.
func (c *Config) Origins() []string { return list(c.HTTP.Origins) }

// list splits a comma-separated list.
func list(s string) (items []string) {
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// Level returns LogLevel as slog knows it.
func (c *Config) Level() (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.Logging.Level)); err != nil {
		return 0, fmt.Errorf("log-level %q: must be debug, info, warn or error", c.Logging.Level)
	}
	return l, nil
}

// Hold returns HoldLevel, nil if there is none.
func (c *Config) Hold() *turn.ClusterLevel {
	if c.Cluster.HoldLevel < 0 {
		return nil
	}
	level := turn.ClusterLevel(c.Cluster.HoldLevel)
	return &level
}

// Turn returns the limits of requests, with those that are not settings.
func (l Limits) Turn() turn.Limits {
	all := turn.DefaultLimits()
	all.MessageBytes, all.AppendBytes, all.ReadBytes = int(l.MessageBytes), int(l.AppendBytes), int(l.ReadBytes)
	return all
}

// Peer is a node of the initial cluster.
type Peer struct {
	ID   string
	Addr string // node-to-node address
}

// Peers returns the nodes of InitialCluster ordered by id, or this node alone.
func (c *Config) Peers() ([]Peer, error) {
	self := c.Listen.Raft
	if c.Advertise.Raft != "" {
		self = c.Advertise.Raft
	}
	if c.Cluster.Initial == "" {
		return []Peer{{c.NodeID, self}}, nil
	}
	var peers []Peer
	seen := map[string]bool{} // ids and addresses
	for part := range strings.SplitSeq(c.Cluster.Initial, ",") {
		id, addr, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || id == "" {
			return nil, fmt.Errorf("initial-cluster: %q is not ID=HOST:PORT", part)
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("initial-cluster: %q of node %s is not HOST:PORT", addr, id)
		}
		if seen[id] || seen[addr] {
			return nil, fmt.Errorf("initial-cluster: %s is given twice", part)
		}
		seen[id], seen[addr] = true, true
		peers = append(peers, Peer{id, addr})
	}
	sort.Slice(peers, func(i, j int) bool { return peers[i].ID < peers[j].ID })
	return peers, c.checkSelf(peers, self)
}

func (c *Config) checkSelf(peers []Peer, self string) error {
	for _, p := range peers {
		if p.ID != c.NodeID {
			continue
		}
		if p.Addr != self {
			return fmt.Errorf("initial-cluster says that %s is at %s, but this node's address is %s (raft-addr or "+
				"raft-advertise)", p.ID, p.Addr, self)
		}
		return nil
	}
	if c.Cluster.Join {
		return nil
	}
	return fmt.Errorf("initial-cluster does not name this node, %s", c.NodeID)
}
