package cluster

import (
	"fmt"
	"strings"

	"github.com/turnlog/turnlog/internal/faultproxy"
)

// proxied is a network of proxies on loopback, one for every ordered pair of
// nodes, where the first dials the second. Bytes from a to b, whichever of the
// two dialed, pass one Direction.
type proxied struct {
	nodes      []string
	addrs      map[string]string                   // of the nodes
	directions map[[2]string]*faultproxy.Direction // {from, to}
	proxies    map[[2]string]*faultproxy.Proxy     // {dialer, dialed}
}

// newProxied makes the proxies. addrs tells the node-to-node address of each
// node, listen returns a free address for a proxy.
func newProxied(nodes []string, addrs map[string]string, listen func() string) (*proxied, error) {
	n := &proxied{nodes: nodes, addrs: addrs,
		directions: map[[2]string]*faultproxy.Direction{}, proxies: map[[2]string]*faultproxy.Proxy{}}
	pairs(nodes, func(a, b string) { n.directions[[2]string{a, b}] = new(faultproxy.Direction) })
	var err error
	pairs(nodes, func(a, b string) {
		if err != nil {
			return
		}
		var p *faultproxy.Proxy
		if p, err = faultproxy.New(faultproxy.Config{Listen: listen(), Targets: []string{addrs[b]},
			To: n.direction(a, b), From: n.direction(b, a)}); err == nil {
			n.proxies[[2]string{a, b}] = p
		}
	})
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

func (n *proxied) direction(from, to string) *faultproxy.Direction {
	return n.directions[[2]string{from, to}]
}

// dialMap tells node how to reach the others, as turnlog serve takes it. The
// cluster's configuration must have the same addresses on all nodes; each node
// has a proxy of its own to every other.
func (n *proxied) dialMap(node string) string {
	var parts []string
	for _, other := range n.nodes {
		if other != node {
			parts = append(parts, fmt.Sprintf("%s=%s", n.addrs[other], n.proxies[[2]string{node, other}].Addr()))
		}
	}
	return strings.Join(parts, ",")
}

func (n *proxied) set(from, to string, f faultproxy.Flow) {
	n.direction(from, to).Set(f)
	if f.Cut {
		n.proxies[[2]string{from, to}].Reset()
		n.proxies[[2]string{to, from}].Reset()
	}
}

// Abandon implements wires.
func (n *proxied) Abandon(node string) {
	for pair, p := range n.proxies {
		if pair[0] == node || pair[1] == node {
			p.Abandon()
		}
	}
}

// Shapes implements wires.
func (n *proxied) Shapes() bool { return true }

// Close ends all proxies.
func (n *proxied) Close() error {
	for _, p := range n.proxies {
		p.Close()
	}
	return nil
}
