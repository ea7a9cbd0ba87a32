package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"
)

// mutual returns the TLS of a node whose certificate and trust are the one given.
func mutual(t *testing.T) *TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "turnlog"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	own := []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	return &TLS{
		Client: func(host string) *tls.Config {
			return &tls.Config{Certificates: own, RootCAs: pool, ServerName: host}
		},
		Server: &tls.Config{Certificates: own, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
		Verify: func(*x509.Certificate, string) error { return nil },
	}
}

func TestTLS(t *testing.T) {
	ours := mutual(t)
	with := func(v *TLS) func(*Config) {
		return func(c *Config) { c.TLS = v }
	}
	a, b := start(t, "a", with(ours)), start(t, "b", with(ours))
	join(t, a, b, "b")
	if got, err := a.Call(t.Context(), "b", 1, make([]byte, 1<<20)); err != nil || len(got) != 1<<20+len("echo ") {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	out, err := a.Streams().Dial(b.addr, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if in, err := b.Streams().Accept(); err != nil {
		t.Fatal(err)
	} else {
		in.Close()
	}
	for name, other := range map[string]*TLS{"without TLS": nil, "with a certificate of its own": mutual(t)} {
		stranger := start(t, "x", with(other))
		if _, err := stranger.Probe(t.Context(), b.addr); err == nil {
			t.Errorf("a node %s gets in", name)
		}
	}
}
