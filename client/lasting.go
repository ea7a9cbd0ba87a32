package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// lasting is the error of a connection that no further attempt at the same node will mend: the configuration of the
// client, or of the node, is wrong.
type lasting struct{ error }

func (l lasting) Unwrap() error { return l.error }

func isLasting(err error) bool { return errors.As(err, new(lasting)) }

// lastingReply reports whether an error reply to what begins a connection lasts, though another node may do better:
// it is of a node that takes TLS only or is older than this package, or of no node. What turnlog calls invalid, such as
// the name of a namespace, is so everywhere.
func lastingReply(code string, kind turn.Kind) bool {
	_, ofTurnlog := turn.ParseKind(code)
	return !ofTurnlog && kind == turn.Invalid
}

// whyNot explains the error of a connection that was not made, and says whether it lasts.
func whyNot(err error) (explained string, lasts bool) {
	if what, ok := ofCertificate(err); ok {
		return what, true
	}
	var op *net.OpError
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return "this port does not take TLS: connect without it, or to another port", true
	case errors.As(err, new(resp.ProtocolError)):
		return "this is no port for Redis clients: give the address of one", true
	case errors.As(err, &op) && op.Op == "remote error" && strings.Contains(err.Error(), "certificate required"):
		return "the node asks for a client certificate: show one", true
	case op != nil && op.Op == "remote error":
		return "the node ended the TLS handshake", true
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "it was closed before it was answered: is this a port for Redis clients?", false
	}
	return "", false
}

// ofCertificate explains what is wrong with a node's certificate.
func ofCertificate(err error) (explained string, ok bool) {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "trust the authority that has signed the certificate of this node", true
	case errors.As(err, new(x509.HostnameError)):
		return "connect by a name that is in the certificate of this node, or have it made for this one", true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew the certificate of this node, or set the clock", true
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "the certificate of this node cannot be used", true
	}
	return "", false
}
