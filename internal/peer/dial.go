package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// open dials addr and sees the connection through its handshake.
func (n *Network) open(ctx context.Context, purpose Purpose, addr, meant string) (*tracked, Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.Dial)
	defer cancel()
	c, remote, err := n.dial(ctx, purpose, addr, meant, n.cfg.Secret)
	if s := n.cfg.Secret; s != nil && s.Optional && errors.Is(err, errNoSecret) {
		return n.dial(ctx, purpose, addr, meant, nil)
	}
	return c, remote, err
}

func (n *Network) dial(ctx context.Context, purpose Purpose, addr, meant string,
	secret *Secret) (*tracked, Facts, error) {
	raw, err := n.cfg.Dial(ctx, addr)
	if err != nil {
		return nil, Facts{}, err
	}
	c := n.track(raw)
	if n.cfg.TLS != nil {
		host, _, _ := net.SplitHostPort(addr)
		c.Conn = tls.Client(raw, n.cfg.TLS.Client(host))
	}
	remote, err := n.greet(c, purpose, addr, meant, secret)
	if err != nil {
		_ = c.Close()
		return nil, remote, err
	}
	c.belongTo(remote, purpose)
	return c, remote, nil
}

// Probe asks the node at addr who it is. If it refuses this node, or this node
// refuses it, the error is a *Refusal and the facts are valid.
func (n *Network) Probe(ctx context.Context, addr string) (Facts, error) {
	c, remote, err := n.open(ctx, Probe, addr, "")
	if err == nil {
		_ = c.Close()
	}
	return remote, err
}

// Transfer opens a connection to the node id at addr, whose Config.Transfer handles it.
// Versions that have none refuse. The caller closes it.
func (n *Network) Transfer(ctx context.Context, id, addr string) (net.Conn, error) {
	c, _, err := n.open(ctx, Transfer, addr, id)
	if err != nil {
		return nil, err
	}
	return c, nil
}
