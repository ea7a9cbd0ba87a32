package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/ports"
	"github.com/turnlog/turnlog/turn"
)

// certificate returns one that signs itself, for 127.0.0.1 unless change says otherwise, and what trusts it.
func certificate(t *testing.T, change func(*x509.Certificate)) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	change(c)
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// listener hands each connection to serve, and counts them.
func listener(t *testing.T, serve func(net.Conn)) (addr string, accepted *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = new(atomic.Int32)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			serve(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String(), accepted
}

func says(text string) func(net.Conn) {
	return func(c net.Conn) {
		c.SetDeadline(time.Now().Add(5 * time.Second))
		c.Read(make([]byte, 4096))
		io.WriteString(c, text)
		if half, ok := c.(*net.TCPConn); ok {
			half.CloseWrite()
		}
		io.Copy(io.Discard, c)
	}
}

func secured(cfg *tls.Config) func(net.Conn) {
	return func(c net.Conn) {
		c.SetDeadline(time.Now().Add(5 * time.Second))
		s := tls.Server(c, cfg)
		s.Handshake()
		io.Copy(io.Discard, s)
	}
}

// What no further attempt can mend was tried again for all of RetryFor, and its error did not say what to do.
func TestWrongAddressOrCertificate(t *testing.T) {
	good, trusted := certificate(t, func(*x509.Certificate) {})
	expired, past := certificate(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) })
	elsewhere, other := certificate(t, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)} })
	serves := func(c tls.Certificate, also tls.ClientAuthType) func(net.Conn) {
		return secured(&tls.Config{Certificates: []tls.Certificate{c}, ClientAuth: also})
	}
	trust := func(p *x509.CertPool) *tls.Config { return &tls.Config{RootCAs: p} }
	tests := []struct {
		name  string
		serve func(net.Conn)
		tls   *tls.Config
		kind  turn.Kind
		want  string
	}{
		{"authority", serves(good, tls.NoClientCert), trust(x509.NewCertPool()), turn.Unavailable,
			"trust the authority"},
		{"expired", serves(expired, tls.NoClientCert), trust(past), turn.Unavailable, "renew the certificate"},
		{"other host", serves(elsewhere, tls.NoClientCert), trust(other), turn.Unavailable, "connect by a name"},
		{"client certificate", serves(good, tls.RequireAnyClientCert), trust(trusted), turn.Unavailable,
			"show one"},
		{"no TLS", says("-ERR Protocol error\r\n"), trust(trusted), turn.Unavailable, "does not take TLS"},
		{"TLS only", says("-ERR this port takes TLS only\r\n"), nil, turn.Invalid, "this port takes TLS only"},
		{"HTTP", says("HTTP/1.1 400 Bad Request\r\n\r\n"), nil, turn.Unavailable, "no port for Redis clients"},
		{"Redis", says("-ERR unknown command 'TURN.NS'\r\n"), nil, turn.Invalid, "it is no turnlog"},
		{"no user", says("-NOAUTH HELLO must be called\r\n"), nil, turn.Unauthorized, "neither a user nor a password"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addr, accepted := listener(t, test.serve)
			c := newTestClient(t, Config{Addrs: []string{addr}, TLS: test.tls, RetryFor: time.Minute})
			_, err := c.Session("s").Append(t.Context(), msg("a"))
			if turn.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) || accepted.Load() != 1 {
				t.Errorf("after %d attempts: %v", accepted.Load(), err)
			}
			for _, err := range c.Session("s").Tail(t.Context(), 0) {
				if turn.KindOf(err) != test.kind || accepted.Load() != 2 {
					t.Errorf("a tail, after %d attempts: %v", accepted.Load()-1, err)
				}
			}
		})
	}
}

// One node that is configured wrongly costs nothing as long as another works; one that is down may come back.
func TestOneWrongNode(t *testing.T) {
	wrong, accepted := listener(t, says("-ERR this port takes TLS only\r\n"))
	works := newFake(t, steps(appended))
	c := newTestClient(t, Config{Addrs: []string{wrong, works.addr()}, RetryFor: time.Minute})
	if _, err := c.Session("s").Append(t.Context(), msg("a")); err != nil || accepted.Load() != 1 {
		t.Errorf("after %d attempts: %v", accepted.Load(), err)
	}

	accepted.Store(0)
	gone := ports.For(t, 1)[0]
	c = newTestClient(t, Config{Addrs: []string{wrong, gone}, RetryFor: time.Second})
	_, err := c.Session("s").Append(t.Context(), msg("a"))
	if accepted.Load() < 2 {
		t.Errorf("after %d attempts: %v", accepted.Load(), err)
	}

	invalid, _ := listener(t, says("-INVALID the namespace has no such name\r\n"))
	c = newTestClient(t, Config{Addrs: []string{invalid, gone}, RetryFor: MaxRetryFor})
	if _, err := c.Session("s").Append(t.Context(), msg("a")); !turn.Is(err, turn.Invalid) {
		t.Errorf("what is invalid everywhere: %v", err)
	}
}
