package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The handshake has three messages, each with the same header:
//
//	4 bytes  "tlnp"
//	byte     version
//	byte     code: the Purpose in a hello, else 0 or the Code of a refusal
//	2 bytes  length of the body, little endian
//
//	dialer   → acceptor  hello:  facts, id of the node that is meant (or empty), level
//	acceptor → dialer    answer: facts, reason, level
//	dialer   → acceptor  verdict: reason
//
// Versions before levels send none, and do not read what is behind the fields that
// they know; more can be added there.
//
// The acceptor serves nothing before the verdict, the dialer may send right
// behind it.

const (
	magic            = "tlnp"
	handshakeVersion = 1
	helloHeader      = 4 + 1 + 1 + 2
	maxHello         = 4 * (maxFact + maxReason)
)

func writeHello(c io.Writer, code uint8, body []byte) error {
	b := make([]byte, 0, helloHeader+len(body))
	b = append(b, magic...)
	b = append(b, handshakeVersion, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(body)))
	_, err := c.Write(append(b, body...))
	return err
}

func readHello(c io.Reader) (code uint8, body []byte, err error) {
	var h [helloHeader]byte
	if _, err := io.ReadFull(c, h[:]); err != nil {
		return 0, nil, err
	}
	if string(h[:4]) != magic {
		return 0, nil, errors.New("peer: what speaks there is not a turnlog node port (or only one side uses TLS)")
	}
	if h[4] != handshakeVersion {
		return 0, nil, &Refusal{RefusedVersion,
			fmt.Sprintf("the handshake has version %d, this turnlog speaks version %d", h[4], handshakeVersion)}
	}
	n := binary.LittleEndian.Uint16(h[6:])
	if n > maxHello {
		return 0, nil, fmt.Errorf("peer: handshake message of %d bytes, the limit is %d", n, maxHello)
	}
	body = make([]byte, n)
	_, err = io.ReadFull(c, body)
	return h[5], body, err
}

var errMalformed = errors.New("peer: malformed handshake message")

// greet is the dialer's side: it returns the other side's facts, or a *Refusal
// by either side.
func (n *Network) greet(c net.Conn, purpose Purpose, addr, meant string) (Facts, error) {
	defer deadline(c, n.cfg.HandshakeTimeout)()
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
	if code != 0 {
		r := &Refusal{Code(code), reason}
		n.cfg.Refused(m, r)
		return remote, r
	}
	if meant != "" && remote.NodeID != meant {
		err = &Refusal{RefusedNode, fmt.Sprintf("node %s answers at %s, which is meant to be node %s", remote.NodeID, addr, meant)}
	} else {
		err = n.cfg.Admit(m)
	}
	r := asRefusal(err)
	if r == nil {
		return remote, writeHello(c, 0, appendString(nil, "", maxReason))
	}
	_ = writeHello(c, uint8(r.Code), appendString(nil, r.Reason, maxReason)) // it is refused, told or not
	return remote, r
}

// welcome is the acceptor's side.
func (n *Network) welcome(c net.Conn) (Meeting, error) {
	defer deadline(c, n.cfg.HandshakeTimeout)()
	code, body, err := readHello(c)
	var version *Refusal
	if errors.As(err, &version) {
		n.answer(c, version)
		return Meeting{}, version
	}
	if err != nil {
		return Meeting{}, err
	}
	f := fields{b: body}
	remote, meant := f.greeting(maxFact)
	m := Meeting{Remote: remote, Purpose: Purpose(code)}
	if f.bad {
		return m, errMalformed
	}
	m.Offset = n.offset(m.Remote)
	if err := n.judge(m, meant); err != nil {
		r := asRefusal(err)
		n.answer(c, r)
		return m, r
	}
	if err := n.answer(c, nil); err != nil {
		return m, err
	}
	if code, body, err = readHello(c); err != nil {
		return m, err
	}
	if code != 0 {
		f := fields{b: body}
		r := &Refusal{Code(code), f.string(maxReason)}
		n.cfg.Refused(m, r)
		return m, r
	}
	return m, nil
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

func (n *Network) answer(c net.Conn, r *Refusal) error {
	code, reason := uint8(0), ""
	if r != nil {
		code, reason = uint8(r.Code), r.Reason
	}
	return writeHello(c, code, appendGreeting(nil, n.cfg.Self(), reason, maxReason))
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

// deadline bounds what c does until the returned function is called.
func deadline(c net.Conn, d time.Duration) (clear func()) {
	_ = c.SetDeadline(time.Now().Add(d))
	return func() { _ = c.SetDeadline(time.Time{}) }
}
