// Package cluster runs turnlog as its users do: real processes of the built
// binary, real sockets, real files. Proxies between the nodes,
// and between clients and nodes, do to bytes what networks do.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/disk"
	"github.com/turnlog/turnlog/internal/faultproxy"
	"github.com/turnlog/turnlog/internal/ports"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// Config describes a cluster.
type Config struct {
	Binary string
	Dir    string // receives the nodes' data and logs
	Nodes  int
	Flags  []string // further flags for turnlog serve
	Seed   uint64
	// Ports are taken from these, both included; 0: the harness chooses.
	FirstPort, LastPort int
	Disks               bool // each node's data lies on a disk.Disk
	Namespaces          bool // a network of the kernel's instead of proxies between nodes
	Clocks              bool // Binary was built with BuildOptions.Clock
	// Spares is how many further nodes there are, which are not members until a fault starts and adds them.
	Spares int
	Secure bool // clients and nodes need certificates, clients are users
}

// Cluster is the nodes of a cluster, and the network between them.
type Cluster struct {
	Nodes   []*Node
	Spares  []*Node // have neither a disk.Disk nor a clock that can be set
	Network *Network
	// Security is nil if nodes have neither users nor certificates.
	Security *Security

	ports ports.Reserved
}

// New prepares a cluster; Start runs it.
func New(cfg Config) (*Cluster, error) {
	if cfg.Nodes < 1 {
		return nil, errors.New("a cluster needs at least one node")
	}
	c := &Cluster{ports: ports.Reserved{First: cfg.FirstPort, Last: cfg.LastPort}}
	b := &builder{cfg: cfg, ports: &c.ports, raft: map[string]string{}}
	for i := range cfg.Nodes + cfg.Spares {
		id := fmt.Sprintf("n%d", i+1)
		b.ids = append(b.ids, id)
	}
	c.Network = b.network()
	if b.err == nil && cfg.Secure {
		c.Security, b.err = newSecurity(filepath.Join(cfg.Dir, "security"))
	}
	for i, id := range b.ids {
		switch {
		case b.err != nil:
		case i < cfg.Nodes:
			c.Nodes = append(c.Nodes, b.node(id, c))
		default:
			b.cfg.Clocks, b.cfg.Disks = false, false
			c.Spares = append(c.Spares, b.node(id, c))
		}
	}
	if b.err != nil {
		c.Close()
		return nil, b.err
	}
	return c, nil
}

// builder gathers what New needs, with the first error.
type builder struct {
	cfg   Config
	ports *ports.Reserved
	ids   []string
	raft  map[string]string // node id → node-to-node address
	// One of these is the network.
	proxied    *proxied
	namespaces *namespaces
	proxies    uint64 // so many, between clients and nodes: each with its own randomness
	err        error
}

func (b *builder) network() *Network {
	if b.cfg.Namespaces {
		b.namespaces, b.err = newNamespaces(b.ids)
		if b.err != nil {
			return nil
		}
		for _, id := range b.ids {
			b.raft[id] = b.namespaces.address(id) + ":7381"
		}
		return &Network{nodes: b.ids, wires: b.namespaces}
	}
	for _, id := range b.ids {
		b.raft[id] = b.addr()
	}
	if b.err == nil {
		b.proxied, b.err = newProxied(b.ids, b.raft, b.addr)
	}
	if b.err != nil {
		return nil
	}
	return &Network{nodes: b.ids, wires: b.proxied}
}

func (b *builder) addr() string {
	if b.err != nil {
		return ""
	}
	addrs, err := b.ports.Addrs(1)
	if err != nil {
		b.err = err
		return ""
	}
	return addrs[0]
}

func (b *builder) node(id string, c *Cluster) *Node {
	resp, http := b.addr(), b.addr()
	if b.namespaces != nil {
		resp, http = b.namespaces.address(id)+":7379", b.namespaces.address(id)+":7380"
	}
	n := &Node{security: c.Security,
		Node: &testcluster.Node{ID: id, RESPAddr: resp, HTTPAddr: http, RaftAddr: b.raft[id],
			Dir: filepath.Join(b.cfg.Dir, "data", id),
			Log: filepath.Join(b.cfg.Dir, id+".log"), Operator: c.Entry(Operator)}}
	n.Use(b.cfg.Binary)
	if b.err == nil && b.cfg.Clocks {
		n.clock, b.err = newClock(filepath.Join(b.cfg.Dir, id+".clock"))
		n.Env = []string{clockVariable + "=" + n.clock.path}
	}
	if b.err == nil && b.cfg.Disks {
		b.err = n.insertDisk()
	}
	n.Requests, n.Answers = new(faultproxy.Direction), new(faultproxy.Direction)
	n.RESP = b.proxy(resp, n)
	n.HTTP = b.proxy(http, n)
	if b.err != nil {
		return n
	}
	var initial []string
	for _, other := range b.ids[:b.cfg.Nodes] {
		initial = append(initial, other+"="+b.raft[other])
	}
	n.Args = append([]string{"--resp-advertise", n.RESP.Addr(), "--http-advertise", n.HTTP.Addr(),
		"--initial-cluster", strings.Join(initial, ",")}, b.cfg.Flags...)
	if b.namespaces != nil {
		n.Within = []string{"ip", "netns", "exec", b.namespaces.namespace(id)}
		n.Args = append(n.Args, "--insecure")
	} else {
		n.Args = append(n.Args, "--dial-map", b.proxied.dialMap(id))
	}
	if b.err = os.MkdirAll(filepath.Dir(n.Dir), 0o755); b.err == nil && c.Security != nil {
		var flags []string
		flags, b.err = c.Security.flags(id, []string{hostOf(n.RESP.Addr()), hostOf(resp)})
		n.Args = append(n.Args, flags...)
	}
	return n
}

// hostOf is the host of an address that the harness has made.
func hostOf(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return host
}

func (b *builder) proxy(target string, n *Node) *faultproxy.Proxy {
	listen := b.addr()
	if b.err != nil {
		return nil
	}
	b.proxies++
	p, err := faultproxy.New(faultproxy.Config{Listen: listen, Targets: []string{target},
		To: n.Requests, From: n.Answers, Seed: b.cfg.Seed + b.proxies})
	if b.err == nil {
		b.err = err
	}
	return p
}

// Start runs every node and waits until a leader serves requests.
func (c *Cluster) Start(ctx context.Context) error {
	for _, n := range c.Nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	return c.WaitReady(ctx)
}

// WaitReady waits until every running node serves requests.
func (c *Cluster) WaitReady(ctx context.Context) error {
	for _, n := range c.Nodes {
		if !n.Healthy() {
			continue
		}
		if err := n.WaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Node returns the node of that name, which may be a spare, nil if there is none.
func (c *Cluster) Node(id string) *Node {
	for _, n := range slices.Concat(c.Nodes, c.Spares) {
		if n.ID == id {
			return n
		}
	}
	return nil
}

// LoseAnswers makes clients lose that share of the answers, at every node.
func (c *Cluster) LoseAnswers(probability float64) {
	for _, n := range c.Nodes {
		n.RESP.LoseAnswers(probability)
		n.HTTP.LoseAnswers(probability)
	}
}

// Lost returns how many answers clients have lost in this way.
func (c *Cluster) Lost() (total int64) {
	for _, n := range c.Nodes {
		total += n.RESP.Lost() + n.HTTP.Lost()
	}
	return total
}

// Heal undoes every fault: the network passes, every node runs.
func (c *Cluster) Heal() error {
	c.Network.Heal()
	for _, n := range c.Nodes {
		n.Requests.Set(faultproxy.Flow{})
		n.Answers.Set(faultproxy.Flow{})
		if n.Disk != nil {
			n.Disk.Set(disk.Faults{})
		}
	}
	c.LoseAnswers(0)
	var errs []error
	for _, n := range c.Nodes {
		if n.HasClock() {
			errs = append(errs, n.SetClock(0, 0))
		}
		if !n.Running() {
			errs = append(errs, n.Start())
		} else if !n.Healthy() {
			errs = append(errs, n.Resume())
		}
	}
	return errors.Join(errs...)
}

// plain returns the nodes without what is around them.
func (c *Cluster) plain() (all []*testcluster.Node) {
	for _, n := range c.Nodes {
		all = append(all, n.Node)
	}
	return all
}

// Deaths describes the processes that ended although the harness did not stop them.
func (c *Cluster) Deaths() (all []string) {
	for _, n := range slices.Concat(c.Nodes, c.Spares) {
		all = append(all, n.Deaths()...)
	}
	return all
}

// StopAll stops every running node as an operator would and reports those that
// do not stop well.
func (c *Cluster) StopAll(limit time.Duration) error {
	return testcluster.Each(c.plain(), func(n *testcluster.Node) error {
		if !n.Running() {
			return nil
		}
		return n.Stop(limit)
	})
}

// Close kills what still runs and ends the proxies.
func (c *Cluster) Close() {
	for _, n := range slices.Concat(c.Nodes, c.Spares) {
		if n.Running() {
			n.Kill()
		}
	}
	if c.Network != nil {
		c.Network.Close()
	}
	for _, n := range slices.Concat(c.Nodes, c.Spares) {
		for _, p := range []*faultproxy.Proxy{n.RESP, n.HTTP} {
			if p != nil {
				p.Close()
			}
		}
		if n.Disk != nil {
			n.Disk.Unmount()
		}
	}
	c.ports.Release()
}
