package peer

import "net"

// tracked is a connection that Network closes when it stops.
type tracked struct {
	net.Conn          // raw, or TLS over it
	raw      net.Conn // key in Network.conns
	net      *Network

	// Guarded by Network.mu:
	guest   bool   // it holds a token of Network.guests
	remote  *Facts // of the other node; nil before the end of the handshake
	purpose Purpose
}

func (n *Network) track(raw net.Conn) *tracked {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &tracked{Conn: raw, raw: raw, net: n}
	n.conns[raw] = c
	if n.closed {
		_ = raw.Close()
	}
	return c
}

// belongTo notes whose connection it is.
func (c *tracked) belongTo(f Facts, p Purpose) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.remote, c.purpose = &f, p
}

// nodeID returns which node the connection belongs to, once its handshake is over.
func (c *tracked) nodeID() string {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	return c.remote.NodeID
}

// Cut closes the connections, dialed and accepted, of the nodes that are to go. The callback
// may take its time, and use the Network.
func (n *Network) Cut(goes func(Facts, Purpose) bool) {
	for _, c := range n.greeted() {
		if goes(*c.remote, c.purpose) {
			n.log.Info("closing the connection of a node", "node", c.remote.NodeID, "addr", c.raw.RemoteAddr())
			_ = c.raw.Close()
		}
	}
}

// greeted returns copies of the connections whose handshake is over.
func (n *Network) greeted() (list []tracked) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		if c.remote != nil {
			list = append(list, tracked{raw: c.raw, remote: c.remote, purpose: c.purpose})
		}
	}
	return list
}

// keep takes a token for an accepted connection, if there is one left.
func (n *Network) keep(c *tracked) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case n.guests <- struct{}{}:
		c.guest = true
		return true
	default:
		return false
	}
}

func (c *tracked) Close() error {
	c.net.mu.Lock()
	if _, open := c.net.conns[c.raw]; open && c.guest {
		<-c.net.guests
	}
	delete(c.net.conns, c.raw)
	c.net.mu.Unlock()
	return c.Conn.Close()
}
