package peer

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// The handshake has three messages. Where there is a cluster secret, its proof comes
// before them. The code of a hello is the Purpose, that of the others 0 or the Code of
// a refusal.
//
//	dialer   → acceptor  hello:  facts, id of the node that is meant (or empty), level, end of the log
//	acceptor → dialer    answer: facts, reason, level, end of the log
//	dialer   → acceptor  verdict: reason, what Config.Say returned
//
// Versions that do not know the last fields of a message do not send them, nor read what is
// behind the fields that they know; more can be added there.
//
// The acceptor serves nothing before the verdict, the dialer may send right
// behind it. Nothing that a node says counts before its credential does: a refusal can
// end a node.

// greet is the dialer's side: it returns the other side's facts, or a *Refusal
// by either side.
func (n *Network) greet(c *tracked, purpose Purpose, addr, meant string, secret *Secret) (Facts, error) {
	defer deadline(c, n.cfg.Timing.Handshake)()
	proven := ""
	if secret != nil {
		var err error
		if proven, err = secret.meet(c, n.cfg.Self().NodeID); err != nil {
			return Facts{}, err
		}
	}
	if err := writeHello(c, uint8(purpose), appendGreeting(nil, n.cfg.Self(), meant, maxFact)); err != nil {
		return Facts{}, err
	}
	code, body, err := readHello(c)
	if err != nil {
		return Facts{}, err
	}
	f := fields{b: body}
	remote, reason := f.greeting(maxReason)
	if f.bad {
		return Facts{}, errMalformed
	}
	m := Meeting{Remote: remote, Purpose: purpose, Dialed: addr, Offset: n.offset(remote)}
	if Code(code) == RefusedCredential {
		return Facts{}, &Refusal{RefusedCredential, reason} // by what has not shown its own
	}
	r := n.identify(c, proven, remote.NodeID)
	if r == nil && code != 0 {
		r := &Refusal{Code(code), reason}
		n.cfg.Refused(m, r)
		return remote, r
	}
	if r == nil {
		r = n.judgeAnswer(m, meant)
	}
	if r == nil {
		return remote, writeHello(c, 0, appendString(appendString(nil, "", maxReason), string(n.cfg.Say(m)), maxReason))
	}
	_ = writeHello(c, uint8(r.Code), appendString(nil, r.Reason, maxReason)) // it is refused, told or not
	return remote, r
}

func (n *Network) judgeAnswer(m Meeting, meant string) *Refusal {
	if meant != "" && m.Remote.NodeID != meant {
		return &Refusal{RefusedNode, fmt.Sprintf("node %s answers at %s, which should be node %s", m.Remote.NodeID,
			m.Dialed, meant)}
	}
	return asRefusal(n.cfg.Admit(m))
}

// welcome is the acceptor's side.
func (n *Network) welcome(c *tracked) (Meeting, error) {
	defer deadline(c, n.cfg.Timing.Handshake)()
	proven, hello, err := n.firstHello(c)
	if err != nil {
		return Meeting{}, err
	}
	f := fields{b: hello.body}
	remote, meant := f.greeting(maxFact)
	m := Meeting{Remote: remote, Purpose: Purpose(hello.code)}
	if f.bad {
		return m, errMalformed
	}
	if r := n.identify(c, proven, remote.NodeID); r != nil {
		n.turnAway(c, r)
		return m, r
	}
	m.Offset = n.offset(m.Remote)
	// What a refusal says of this node is what it knew, at least, when it judged.
	knew := n.cfg.Self()
	if err := n.judge(m, meant); err != nil {
		r := asRefusal(err)
		_ = n.answer(c, knew, r) // it is refused, told or not
		return m, r
	}
	if err := n.answer(c, n.cfg.Self(), nil); err != nil {
		return m, err
	}
	code, body, err := readHello(c)
	if err != nil {
		return m, err
	}
	f = fields{b: body}
	reason := f.string(maxReason)
	if code != 0 {
		r := &Refusal{Code(code), reason}
		n.cfg.Refused(m, r)
		return m, r
	}
	if m.Said = []byte(f.string(maxReason)); f.bad {
		m.Said = nil
	}
	return m, nil
}

// firstHello has the other side prove the secret, if there is one, and reads its hello.
func (n *Network) firstHello(c *tracked) (proven string, hello message, err error) {
	var r *Refusal
	hello, err = readMessage(c)
	switch secret := n.cfg.Secret; {
	case err != nil:
		errors.As(err, &r) // another version
	case hello.protocol == secretProof && secret == nil:
		r = &Refusal{RefusedCredential, "this node has no cluster secret: start it with --cluster-secret-file"}
	case hello.protocol == secretProof:
		proven, err = secret.admit(c, hello, n.cfg.Self().NodeID)
		errors.As(err, &r)
	case secret != nil && !secret.Optional:
		r = &Refusal{RefusedCredential, "this node asks for a proof of the cluster secret: start the other one with " +
			"--cluster-secret-file and a copy of this node's file"}
	}
	if r != nil {
		n.turnAway(c, r)
		return "", hello, r
	}
	if err == nil && hello.protocol == secretProof {
		if hello, err = readMessage(c); err == nil && hello.protocol != handshake {
			err = errMalformed
		}
	}
	return proven, hello, err
}

// identify refuses a node that is not the one that it proved to be.
func (n *Network) identify(c *tracked, proven, id string) *Refusal {
	if proven != "" && proven != id {
		return &Refusal{RefusedCredential, fmt.Sprintf("node %s says that it is node %s", proven, id)}
	}
	secured, ok := c.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	shown := secured.ConnectionState().PeerCertificates
	if len(shown) == 0 {
		return &Refusal{RefusedCredential, fmt.Sprintf("node %s shows no certificate", id)}
	}
	if err := n.cfg.TLS.Verify(shown[0], id); err != nil {
		return &Refusal{RefusedCredential, err.Error()}
	}
	return nil
}

// turnAway answers what has not shown a credential. It learns nothing of this node.
func (n *Network) turnAway(c net.Conn, r *Refusal) {
	_ = writeHello(c, uint8(r.Code), appendGreeting(nil, Facts{}, r.Reason, maxReason))
}

func (n *Network) judge(m Meeting, meant string) error {
	if self := n.cfg.Self().NodeID; meant != "" && meant != self {
		return &Refusal{RefusedNode, fmt.Sprintf("this is node %s, not node %s", self, meant)}
	}
	if m.Purpose < Stream || m.Purpose > Transfer {
		return &Refusal{RefusedVersion, "unknown " + m.Purpose.String()}
	}
	return n.cfg.Admit(m)
}

func (n *Network) answer(c net.Conn, self Facts, r *Refusal) error {
	code, reason := uint8(0), ""
	if r != nil {
		code, reason = uint8(r.Code), r.Reason
	}
	return writeHello(c, code, appendGreeting(nil, self, reason, maxReason))
}

func (n *Network) offset(remote Facts) time.Duration {
	return remote.Wall.Sub(n.cfg.Self().Wall)
}

// asRefusal makes a Refusal of any error, nil of nil.
func asRefusal(err error) *Refusal {
	var r *Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &r):
		return r
	}
	return &Refusal{RefusedOther, err.Error()}
}
