package cluster

import (
	"fmt"
	"strings"
)

// Network is what lies between the nodes: a proxy for every ordered pair, where
// the first dials the second. Bytes from a to b, whichever of the two dialed,
// pass one Direction.
type Network struct {
	nodes      []string
	directions map[[2]string]*Direction // {from, to}
	proxies    map[[2]string]*Proxy     // {dialer, dialed}
}

// newNetwork makes the proxies between nodes. addrs tells the node-to-node
// address of each, listen returns a free address for a proxy.
func newNetwork(nodes []string, addrs map[string]string, listen func() string) (*Network, error) {
	n := &Network{nodes: nodes, directions: map[[2]string]*Direction{}, proxies: map[[2]string]*Proxy{}}
	n.pairs(func(a, b string) { n.directions[[2]string{a, b}] = &Direction{} })
	var err error
	n.pairs(func(a, b string) {
		if err != nil {
			return
		}
		var p *Proxy
		if p, err = NewProxy(listen(), addrs[b], n.direction(a, b), n.direction(b, a), 0); err == nil {
			n.proxies[[2]string{a, b}] = p
		}
	})
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

func (n *Network) pairs(f func(a, b string)) {
	for _, a := range n.nodes {
		for _, b := range n.nodes {
			if a != b {
				f(a, b)
			}
		}
	}
}

func (n *Network) direction(from, to string) *Direction { return n.directions[[2]string{from, to}] }

// dialMap tells node how to reach the others, as turnlog serve takes it. The
// cluster's configuration must have the same addresses on all nodes; each node
// has a proxy of its own to every other.
func (n *Network) dialMap(node string, addrs map[string]string) string {
	var parts []string
	for _, other := range n.nodes {
		if other != node {
			parts = append(parts, fmt.Sprintf("%s=%s", addrs[other], n.proxies[[2]string{node, other}].Addr()))
		}
	}
	return strings.Join(parts, ",")
}

// Set changes what happens to bytes from one node to another.
func (n *Network) Set(from, to string, f Flow) {
	n.direction(from, to).Set(f)
	if f.Cut {
		n.proxies[[2]string{from, to}].Reset()
		n.proxies[[2]string{to, from}].Reset()
	}
}

// SetBoth does so in both directions.
func (n *Network) SetBoth(a, b string, f Flow) {
	n.Set(a, b, f)
	n.Set(b, a, f)
}

// Split separates each node in left from each in right.
func (n *Network) Split(left, right []string, f Flow) {
	for _, a := range left {
		for _, b := range right {
			n.SetBoth(a, b, f)
		}
	}
}

// Abandon leaves all open connections of a node half-open; see Proxy.Abandon.
func (n *Network) Abandon(node string) {
	for pair, p := range n.proxies {
		if pair[0] == node || pair[1] == node {
			p.Abandon()
		}
	}
}

// Heal lets everything pass again.
func (n *Network) Heal() {
	n.pairs(func(a, b string) { n.Set(a, b, Flow{}) })
}

// Close ends all proxies.
func (n *Network) Close() {
	for _, p := range n.proxies {
		p.Close()
	}
}
