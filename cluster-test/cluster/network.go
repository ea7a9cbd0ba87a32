package cluster

import (
	"sync"

	"github.com/turnlog/turnlog/internal/faultproxy"
)

// Network is what lies between the nodes.
type Network struct {
	nodes []string
	wires

	mu      sync.Mutex
	severed map[[2]string]bool // from one node to another nothing arrives
}

// wires are what a Network is made of.
type wires interface {
	// set changes what happens to bytes from one node to another.
	set(from, to string, f faultproxy.Flow)
	// Abandon leaves all open connections of a node half-open; see faultproxy.Proxy.
	Abandon(node string)
	// Shapes reports whether Flow's Delay and Loss, and Abandon, have an effect.
	Shapes() bool
	// Close ends the network. It returns the first error that it met.
	Close() error
}

func (n *Network) pairs(f func(a, b string)) { pairs(n.nodes, f) }

func pairs(nodes []string, f func(a, b string)) {
	for _, a := range nodes {
		for _, b := range nodes {
			if a != b {
				f(a, b)
			}
		}
	}
}

// Set changes what happens to bytes from one node to another.
func (n *Network) Set(from, to string, f faultproxy.Flow) {
	n.mu.Lock()
	if n.severed == nil {
		n.severed = map[[2]string]bool{}
	}
	n.severed[[2]string{from, to}] = f.Cut || f.Hold
	n.mu.Unlock()
	n.set(from, to, f)
}

// joined reports whether bytes pass between two nodes, both ways.
func (n *Network) joined(a, b string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.severed[[2]string{a, b}] && !n.severed[[2]string{b, a}]
}

// SetBoth does so in both directions.
func (n *Network) SetBoth(a, b string, f faultproxy.Flow) {
	n.Set(a, b, f)
	n.Set(b, a, f)
}

// Split separates each node in left from each in right.
func (n *Network) Split(left, right []string, f faultproxy.Flow) {
	for _, a := range left {
		for _, b := range right {
			n.SetBoth(a, b, f)
		}
	}
}

// Heal lets everything pass again.
func (n *Network) Heal() {
	n.pairs(func(a, b string) { n.Set(a, b, faultproxy.Flow{}) })
}
