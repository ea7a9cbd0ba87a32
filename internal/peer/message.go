package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// A message is what the two sides exchange before a connection is used, each with the
// same header:
//
//	4 bytes  protocol: "tlnp", the handshake, or "tlns", the proof of the secret
//	byte     version
//	byte     code: see there
//	2 bytes  length of the body, little endian
type message struct {
	protocol string
	code     uint8
	body     []byte
}

const (
	handshake      = "tlnp"
	secretProof    = "tlns"
	messageVersion = 1
	messageHeader  = 4 + 1 + 1 + 2
	maxMessage     = 4 * (maxFact + maxReason)
)

func (m message) write(c io.Writer) error {
	b := make([]byte, 0, messageHeader+len(m.body))
	b = append(b, m.protocol...)
	b = append(b, messageVersion, m.code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(m.body)))
	_, err := c.Write(append(b, m.body...))
	return err
}

func readMessage(c io.Reader) (m message, err error) {
	var h [messageHeader]byte
	if _, err := io.ReadFull(c, h[:]); err != nil {
		return m, err
	}
	if m.protocol = string(h[:4]); m.protocol != handshake && m.protocol != secretProof {
		return m, errors.New("peer: the other end is not the node port of a turnlog (or only one side uses TLS)")
	}
	if h[4] != messageVersion {
		return m, &Refusal{RefusedVersion,
			fmt.Sprintf("the handshake has version %d, this turnlog speaks version %d", h[4], messageVersion)}
	}
	n := binary.LittleEndian.Uint16(h[6:])
	if n > maxMessage {
		return m, fmt.Errorf("peer: handshake message of %d bytes, the limit is %d", n, maxMessage)
	}
	m.code, m.body = h[5], make([]byte, n)
	_, err = io.ReadFull(c, m.body)
	return m, err
}

// readHello reads a message of the handshake.
func readHello(c io.Reader) (code uint8, body []byte, err error) {
	m, err := readMessage(c)
	if err == nil && m.protocol != handshake {
		err = errMalformed
	}
	return m.code, m.body, err
}

func writeHello(c io.Writer, code uint8, body []byte) error {
	return message{handshake, code, body}.write(c)
}

var errMalformed = errors.New("peer: malformed handshake message")

// deadline bounds what c does until the returned function is called.
func deadline(c net.Conn, d time.Duration) (clear func()) {
	_ = c.SetDeadline(time.Now().Add(d))
	return func() { _ = c.SetDeadline(time.Time{}) }
}
