package turnlogtest

import (
	"strings"

	"github.com/turnlog/turnlog/internal/faultproxy"
)

// link is how one node reaches another.
type link struct {
	from, to *Node
	proxy    *faultproxy.Proxy
	both     *faultproxy.Direction // of its bytes
}

// linksOf makes a node's links to the others, and returns them as the setting dial-map has them.
func (c *Cluster) linksOf(from *Node) (string, error) {
	var dials []string
	for _, to := range c.nodes {
		if to == from {
			continue
		}
		both := new(faultproxy.Direction)
		proxy, err := faultproxy.New(faultproxy.Config{Targets: []string{to.cfg.Listen.Raft}, To: both, From: both})
		if err != nil {
			return "", err
		}
		c.links = append(c.links, &link{from: from, to: to, proxy: proxy, both: both})
		dials = append(dials, to.cfg.Listen.Raft+"="+proxy.Addr())
	}
	return strings.Join(dials, ","), nil
}

// update changes what the cluster knows of its nodes.
func (c *Cluster) update(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	for _, l := range c.links {
		l.both.Set(faultproxy.Flow{Hold: l.from.partitioned || l.to.partitioned})
	}
	close(c.changed)
	c.changed = make(chan struct{})
}
