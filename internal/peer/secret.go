package peer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"syscall"
)

// Secret is a secret shared by the nodes of a cluster. Each side of a connection proves
// that it knows the secret before either sends or accepts anything else. The
// secret itself is not sent, and a proof is good for one connection. What follows on
// the connection is neither encrypted nor authenticated: that takes TLS.
//
//	dialer   → acceptor  1: nonce, id
//	acceptor → dialer    2: nonce, id, proof
//	dialer   → acceptor  3: proof
//
// A proof is the HMAC-SHA256, keyed with the secret, of the side that makes it and of
// both nonces and ids. What a stranger is told is the id of a node and a proof with
// which nothing can be done but to try secrets: hence the length of a key.
type Secret struct {
	// Keys have MinKey bytes at least. The first is used to prove, all are accepted, so
	// that a new one can be introduced while nodes run with the old one.
	Keys [][]byte
	// Optional accepts nodes without a secret, too: to introduce one.
	Optional bool
}

// MinKey is the least length of a key, in bytes.
const MinKey = 32

const (
	proofChallenge = iota + 1
	proofAnswer
	proofOfDialer

	roleDialer   = 'd'
	roleAcceptor = 'a'

	nonceSize = 32
)

// party is what one side says before it proves anything.
type party struct {
	nonce []byte
	id    string
}

func newParty(id string) party {
	p := party{make([]byte, nonceSize), id}
	_, _ = rand.Read(p.nonce) // cannot fail
	return p
}

func (p party) append(b []byte) []byte {
	return appendString(append(b, p.nonce...), p.id, maxFact)
}

func (f *fields) party() party {
	return party{f.take(nonceSize), f.string(maxFact)}
}

func proof(key []byte, role byte, dialer, acceptor party) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(acceptor.append(dialer.append([]byte{'t', 'l', 'n', 's', messageVersion, role})))
	return mac.Sum(nil)
}

func (s *Secret) proves(p []byte, role byte, dialer, acceptor party) bool {
	for _, key := range s.Keys {
		if hmac.Equal(p, proof(key, role, dialer, acceptor)) {
			return true
		}
	}
	return false
}

// errNoSecret: the other side does not know how to prove a secret, or has none.
var errNoSecret = errors.New("peer: the node that answers has no cluster secret: start it with --cluster-secret-file " +
	"and a copy of this node's file")

// meet is the dialer's side of the proof. It returns the id of the node that answers.
func (s *Secret) meet(c io.ReadWriter, self string) (id string, err error) {
	dialer := newParty(self)
	if err := (message{secretProof, proofChallenge, dialer.append(nil)}).write(c); err != nil {
		return "", err
	}
	m, err := readMessage(c)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET): // as versions before secrets
		return "", fmt.Errorf("%w, or rejected this node: %w", errNoSecret, err)
	case err != nil:
		return "", err
	case m.protocol == handshake && m.code == uint8(RefusedCredential):
		return "", errNoSecret
	}
	f := fields{b: m.body}
	acceptor, p := f.party(), f.take(sha256.Size)
	if f.bad || m.protocol != secretProof || m.code != proofAnswer {
		return "", errMalformed
	}
	if !s.proves(p, roleAcceptor, dialer, acceptor) {
		return "", &Refusal{RefusedCredential,
			fmt.Sprintf("what answers as node %s does not know the cluster secret of this node: both need the same "+
				"file (--cluster-secret-file)", acceptor.id)}
	}
	return acceptor.id, message{secretProof, proofOfDialer, proof(s.Keys[0], roleDialer, dialer, acceptor)}.write(c)
}

// admit is the acceptor's side, after the first message. It returns the id of the node
// that dialed.
func (s *Secret) admit(c io.ReadWriter, first message, self string) (id string, err error) {
	f := fields{b: first.body}
	dialer, acceptor := f.party(), newParty(self)
	if f.bad || first.code != proofChallenge {
		return "", errMalformed
	}
	answer := append(acceptor.append(nil), proof(s.Keys[0], roleAcceptor, dialer, acceptor)...)
	if err := (message{secretProof, proofAnswer, answer}).write(c); err != nil {
		return "", err
	}
	m, err := readMessage(c)
	if err != nil {
		return "", fmt.Errorf("peer: node %s did not prove its identity: %w", dialer.id, err)
	}
	if m.protocol != secretProof || m.code != proofOfDialer || !s.proves(m.body, roleDialer, dialer, acceptor) {
		return "", &Refusal{RefusedCredential,
			"the cluster secret of the node that dialed is not one of those of this node: both need the same file " +
				"(--cluster-secret-file)"}
	}
	return dialer.id, nil
}
