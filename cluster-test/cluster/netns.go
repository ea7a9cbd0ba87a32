package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"

	"github.com/turnlog/turnlog/internal/faultproxy"
)

// namespaces is a network of the kernel's: each node in a network namespace of
// its own, all joined by a bridge. It needs Linux, the ip command, and root.
//
// Bytes from a to b are lost when a believes b to have another hardware address:
// so one direction can be cut, and neither end is told.
type namespaces struct {
	name  string // of the bridge, and the beginning of all others
	host  string // the harness's address
	index map[string]int

	mu  sync.Mutex
	err error // the first
}

func newNamespaces(nodes []string) (*namespaces, error) {
	id := 1 + rand.IntN(254)
	n := &namespaces{name: fmt.Sprintf("tlct%d", id), index: map[string]int{}}
	n.host = fmt.Sprintf("10.77.%d.254", id)
	n.ip("link add %s type bridge", n.name)
	n.ip("addr add %s/24 dev %s", n.host, n.name)
	n.ip("link set %s up", n.name)
	for i, node := range nodes {
		n.index[node] = i + 1
		ns, outside := n.namespace(node), n.name+node
		n.ip("netns add %s", ns)
		n.ip("link add %s type veth peer name eth0 address %s netns %s", outside, n.hardware(node), ns)
		n.ip("link set %s master %s up", outside, n.name)
		n.ip("-n %s link set lo up", ns)
		n.ip("-n %s link set eth0 up", ns)
		n.ip("-n %s addr add %s/24 dev eth0", ns, n.address(node))
	}
	if n.err != nil {
		return nil, errors.Join(n.err, n.Close())
	}
	return n, nil
}

// Separable returns nil if this machine can give nodes network namespaces, else why it cannot.
func Separable() error {
	n, err := newNamespaces([]string{"n1"})
	if err != nil {
		return err
	}
	return n.Close()
}

func (n *namespaces) namespace(node string) string { return n.name + "-" + node }

func (n *namespaces) address(node string) string {
	return strings.TrimSuffix(n.host, "254") + fmt.Sprint(n.index[node])
}

func (n *namespaces) hardware(node string) string {
	return fmt.Sprintf("02:00:00:00:77:%02x", n.index[node])
}

const unusedHardware = "02:00:00:00:77:ff"

// ip runs the command of that name.
func (n *namespaces) ip(format string, args ...any) {
	words := strings.Fields(fmt.Sprintf(format, args...))
	out, err := exec.Command("ip", words...).CombinedOutput()
	if err == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err == nil {
		n.err = fmt.Errorf("ip %s: %w: %s", strings.Join(words, " "), err, out)
	}
}

func (n *namespaces) set(from, to string, f faultproxy.Flow) {
	hardware := n.hardware(to)
	if f.Hold || f.Cut {
		hardware = unusedHardware
	}
	n.ip("-n %s neigh replace %s lladdr %s dev eth0 nud permanent", n.namespace(from), n.address(to), hardware)
}

// Abandon implements wires; the kernel tells the truth about connections.
func (n *namespaces) Abandon(string) {}

// Shapes implements wires.
func (n *namespaces) Shapes() bool { return false }

// Close removes the bridge and the namespaces, with all that is in them.
func (n *namespaces) Close() error {
	for node := range n.index {
		n.ip("netns del %s", n.namespace(node))
	}
	n.ip("link del %s", n.name)
	return n.err
}
